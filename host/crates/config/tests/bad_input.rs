//! What can be wrong with a file, one row each: the key, the place and the words of the message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::Path;

use config::{ConfigErrors, Environment, KeyPath, LocationError, Locations, MAX_FILE_BYTES, ProblemKind, Warning, load, parse};

fn errors(text: &str) -> ConfigErrors {
    let environment = Environment::new([("SET", "sk-from-environment")], "/");
    match parse(text, Path::new("creel.json"), &environment) {
        Err(errors) => errors,
        Ok(parsed) => panic!("{text} loads: {:?}", parsed.config),
    }
}

/// The blocks of the printed message without the headline.
fn blocks(text: &str) -> Vec<String> {
    errors(text).to_string().split("\n\n").skip(1).map(str::to_owned).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(blocks(text), expected, "{text}");
}

#[test]
fn wrong_types_name_key_place_and_what_is_right() {
    check(
        "{\n  agents: {\n    defaults: { timeoutSeconds: 'soon', skipBootstrap: 1 },\n  },\n}",
        &[
            "creel.json:3:33: agents.defaults.timeoutSeconds\n  found the text \"soon\", expected a whole number of seconds from 0 to \
             31622400, or text with a unit such as \"30m\"",
            "creel.json:3:56: agents.defaults.skipBootstrap\n  found 1, expected `true` or `false`",
        ],
    );
    let rows: &[(&str, &str)] = &[
        ("[]", "creel.json:1:1\n  found a list, expected an object"),
        ("null", "creel.json:1:1\n  found `null`, expected an object"),
        ("{ tools: 'all' }", "creel.json:1:10: tools\n  found the text \"all\", expected an object"),
        (
            "{ tools: { deny: 'exec' } }",
            "creel.json:1:18: tools.deny\n  found the text \"exec\", expected a list, each entry text in quotes",
        ),
        ("{ tools: { deny: ['a', 7] } }", "creel.json:1:24: tools.deny[1]\n  found 7, expected text in quotes"),
        ("{ agents: null }", "creel.json:1:11: agents\n  found `null`, expected an object"),
        ("{ agents: { list: {} } }", "creel.json:1:19: agents.list\n  found an object, expected a list, each entry an object"),
        ("{ $schema: 1 }", "creel.json:1:12: $schema\n  found 1, expected text in quotes"),
        (
            "{ agents: { defaults: { model: 7 } } }",
            "creel.json:1:32: agents.defaults.model\n  found 7, expected text that is not empty or an object",
        ),
        (
            "{ agents: { defaults: { model: { fallbacks: 'a/b' } } } }",
            "creel.json:1:45: agents.defaults.model.fallbacks\n  found the text \"a/b\", expected a list, each entry text that is not empty",
        ),
        (
            "{ agents: { defaults: { contextTokens: 1.5 } } }",
            "creel.json:1:40: agents.defaults.contextTokens\n  found 1.5, expected a whole number from 1 to 1000000000",
        ),
        (
            "{ plugins: { entries: { g: { capabilities: { kv: 'yes' } } } } }",
            "creel.json:1:50: plugins.entries.g.capabilities.kv\n  found the text \"yes\", expected `true` or `false` or an object",
        ),
    ];
    for (text, block) in rows {
        check(text, &[block]);
    }
}

#[test]
fn unknown_keys_are_all_told_with_the_nearest_known_one() {
    check(
        "{\n  chanels: {},\n  plugins: {\n    entries: {\n      'tool-guard': { hooks: { timeoutMS: 5 }, priority: 1 },\n    },\n  },\n}",
        &[
            "creel.json:2:3: chanels\n  unknown key; did you mean `channels`?",
            "creel.json:5:32: plugins.entries.tool-guard.hooks.timeoutMS\n  unknown key; did you mean `timeoutMs`?",
            "creel.json:5:48: plugins.entries.tool-guard.priority\n  unknown key; known here: capabilities, circuit, config, enabled, hooks, \
             limits, required",
        ],
    );
    let rows: &[(&str, &str)] = &[
        ("{ tools: { $schema: 'x' } }", "creel.json:1:12: tools[\"$schema\"]\n  unknown key"),
        (
            "{ plugins: { entries: { g: { capabilities: { clipboard: true } } } } }",
            "creel.json:1:46: plugins.entries.g.capabilities.clipboard\n  unknown key; known here: clock, env, fs, http, kv, messagesSend, \
             random, secrets, sessionExtension, sessionsRead, toolsInvoke",
        ),
        (
            "{ plugins: { entries: { g: { capabilities: { kv: { maxByte: 1 } } } } } }",
            "creel.json:1:52: plugins.entries.g.capabilities.kv.maxByte\n  unknown key; did you mean `maxBytes`?",
        ),
        (
            "{ agents: { defaults: { model: { primery: 'a/b' } } } }",
            "creel.json:1:34: agents.defaults.model.primery\n  unknown key; did you mean `primary`?",
        ),
    ];
    for (text, block) in rows {
        let blocks = blocks(text);
        assert_eq!(blocks.len(), 1, "{blocks:?}");
        assert!(blocks[0].starts_with(&block.replace("tools[\"$schema\"]", "tools.$schema")), "{blocks:?}");
    }
}

#[test]
fn values_out_of_range_name_the_range() {
    let rows: &[(&str, &str)] = &[
        ("{ tools: { exec: { timeoutSec: 0 } } }", "found 0, expected a whole number of seconds from 1 to 604800, or text"),
        (
            "{ tools: { exec: { timeoutSec: '8d' } } }",
            "found the text \"8d\", expected a whole number of seconds from 1 to 604800",
        ),
        ("{ tools: { exec: { timeoutSec: '1500ms' } } }", "found the text \"1500ms\", expected a whole number of seconds"),
        ("{ tools: { exec: { timeoutSec: -5 } } }", "found -5, expected a whole number of seconds from 1"),
        ("{ agents: { defaults: { thinkingDefault: 'hihg' } } }", "`ultra`; did you mean `high`?"),
        (
            "{ agents: { defaults: { thinkingDefault: 'much' } } }",
            "found the text \"much\", expected one of `off`, `minimal`, `low`",
        ),
        ("{ logging: { level: 'verbose' } }", "expected one of `silent`, `fatal`, `error`, `warn`, `info`, `debug`, `trace`"),
        ("{ agents: { defaults: { contextLimits: { toolResultMaxChars: 1000001 } } } }", "a whole number from 1 to 1000000"),
        ("{ agents: { defaults: { bootstrapMaxChars: 99999999999999999999 } } }", "expected a whole number from 1 to 10000000"),
        (
            "{ plugins: { entries: { g: { limits: { memoryBytes: '8gb' } } } } }",
            "found the text \"8gb\", expected a whole number of bytes",
        ),
        ("{ plugins: { entries: { g: { limits: { maxInstances: 0 } } } } }", "found 0, expected a whole number from 1 to 1000"),
        ("{ agents: { defaults: { workspace: '' } } }", "found an empty text, expected text that is not empty"),
        (
            "{ models: { providers: { x: { models: [{ id: 'a', cost: { input: -1 } }] } } } }",
            "found -1, expected a number that is at least 0",
        ),
        ("{ models: { providers: { x: { models: [{ name: 'a' }] } } } }", "the key `id` is missing here"),
        ("{ models: { providers: { x: { apiKey: { source: 'file', id: '/x' } } } } }", "expected `env`"),
    ];
    for (text, part) in rows {
        let blocks = blocks(text);
        assert!(blocks.len() == 1 && blocks[0].contains(part), "{text}: {blocks:#?}");
    }
}

/// plugin-hooks case 44.
#[test]
fn hooks_044_timeouts_out_of_range_are_errors_and_not_clamped() {
    for (value, shown) in [("600001", "600001"), ("0", "0"), ("'601s'", "the text \"601s\"")] {
        let expected = format!(
            "\n  found {shown}, expected a whole number of milliseconds from 1 to 600000, or text with a unit such as \"15s\""
        );
        check(
            &format!("{{ plugins: {{ entries: {{ 'tool-guard': {{ hooks: {{\n  timeoutMs: {value} }} }} }} }} }}"),
            &[&format!("creel.json:2:14: plugins.entries.tool-guard.hooks.timeoutMs{expected}")],
        );
        check(
            &format!("{{ plugins: {{ entries: {{ g: {{ hooks: {{ timeouts: {{\n  agent_end: {value} }} }} }} }} }} }}"),
            &[&format!("creel.json:2:14: plugins.entries.g.hooks.timeouts.agent_end{expected}")],
        );
    }
    for value in ["1", "600000", "'10m'"] {
        let text = format!("{{ plugins: {{ entries: {{ g: {{ hooks: {{ timeoutMs: {value} }} }} }} }} }}");
        assert!(parse(&text, Path::new("x"), &Environment::new([("", ""); 0], "/")).is_ok(), "{value}");
    }
}

#[test]
fn rules_between_keys_are_checked() {
    let rows: &[(&str, &str)] = &[
        (
            "{ agents: { list: [{ id: 'a' }, { id: '-b' }] } }",
            "creel.json:1:39: agents.list[1].id\n  `-b` is not an agent id: use 1 to 64 characters",
        ),
        (
            "{ agents: { list: [{ id: 'a' }, { id: 'A' }] } }",
            "creel.json:1:39: agents.list[1].id\n  the id `a` belongs to agents.list[0] already",
        ),
        (
            "{ tools: { allow: ['a'], alsoAllow: ['b'] } }",
            "creel.json:1:26: tools.alsoAllow\n  `allow` and `alsoAllow` cannot stand in one scope",
        ),
        (
            "{ agents: { list: [{ id: 'a', tools: { alsoAllow: [], allow: [] } }] } }",
            "creel.json:1:40: agents.list[0].tools.alsoAllow\n  `allow` and `alsoAllow` cannot stand in one scope",
        ),
        (
            "{ agents: { defaults: { models: { 'p/a': { alias: 'x' }, 'p/b': { alias: 'X' } } } } }",
            "creel.json:1:74: agents.defaults.models[\"p/b\"].alias\n  the alias `X` belongs to `p/a` already",
        ),
        ("{ models: { providers: { 'a/b': {} } } }", "creel.json:1:26: models.providers[\"a/b\"]\n  a provider id is not empty"),
        ("{ models: { providers: { '': {} } } }", "creel.json:1:26: models.providers[\"\"]\n  a provider id is not empty"),
        (
            "{ models: { providers: { x: { script: 's' } } } }",
            "creel.json:1:31: models.providers.x.script\n  only the built-in provider `offline` plays scripts",
        ),
        (
            "{ models: { providers: { x: { baseUrl: 'localhost:80' } } } }",
            "creel.json:1:40: models.providers.x.baseUrl\n  an address begins with `http://` or `https://`",
        ),
        (
            "{ models: { providers: { x: { baseUrl: 'http://' } } } }",
            "creel.json:1:40: models.providers.x.baseUrl\n  an address begins",
        ),
        (
            "{ models: { providers: { x: { models: [{ id: 'm' }, { id: 'm' }] } } } }",
            "creel.json:1:59: models.providers.x.models[1].id\n  the model `m` is in models[0] already",
        ),
        (
            "{ security: { installPolicy: { exec: { command: './check' } } } }",
            "creel.json:1:49: security.installPolicy.exec.command\n  the command is not an absolute path",
        ),
        (
            "{ security: { installPolicy: { exec: { command: '/c', trustedDirs: ['/a', 'b'] } } } }",
            "creel.json:1:75: security.installPolicy.exec.trustedDirs[1]\n  the directory is not an absolute path",
        ),
    ];
    for (text, start) in rows {
        let blocks = blocks(text);
        assert!(blocks.len() == 1 && blocks[0].starts_with(start), "{text}: {blocks:#?}");
    }
}

#[test]
fn all_kinds_of_errors_are_told_together_in_the_order_of_the_file() {
    let text = "{\n  tools: { allow: ['a'], alsoAllow: ['b'] },\n  loging: {},\n  agents: { list: [{ id: 'x y' }], list: [] },\n  \
                messages: { responsePrefix: '${NOT_SET}', suppressToolErrors: 'no' },\n}";
    let errors = errors(text);
    let told: Vec<_> = errors
        .problems()
        .iter()
        .map(|problem| (problem.position.unwrap().line, problem.key.clone().unwrap().to_string()))
        .collect();
    let expected = [
        (2, "tools.alsoAllow"),
        (3, "loging"),
        (4, "agents.list"),
        (5, "messages.responsePrefix"),
        (5, "messages.suppressToolErrors"),
    ];
    assert_eq!(told, expected.map(|(line, key)| (line, key.to_owned())), "{errors}");
    assert!(errors.to_string().starts_with("the configuration creel.json has 5 errors\n\ncreel.json:2:26: tools.alsoAllow\n  "));
}

#[test]
fn duplicate_keys_are_errors_at_the_later_one() {
    check(
        "{\n  tools: { deny: [], 'deny': ['x'] },\n  tools: {},\n  tools: {},\n}",
        &[
            "creel.json:2:22: tools.deny\n  this key is already in the same object; remove one of the two",
            "creel.json:3:3: tools\n  this key is already in the same object; remove one of the two",
            "creel.json:4:3: tools\n  this key is already in the same object; remove one of the two",
        ],
    );
}

#[test]
fn syntax_errors_show_the_line() {
    check(
        "{\n  tools: { deny: ['exec' 'read'] },\n}",
        &[
            "creel.json:2:26\n  expected `,` or the end of the object or list\n  2 |   tools: { deny: ['****' '****'] },\n    |                          ^",
        ],
    );
    check(
        "{ a: Infinity }",
        &["creel.json:1:6\n  found `Infinity` or `NaN`, expected a finite number\n  1 | { a: Infinity }\n    |      ^"],
    );
    check(
        "{ tools: {",
        &[
            "creel.json:1:10\n  the file ends before the object or list that begins here is closed\n  1 | { tools: {\n    |          ^",
        ],
    );
    let deep = format!("{{ plugins: {{ entries: {{ g: {{ config: {{ a: {}", "[".repeat(100_000));
    assert!(matches!(errors(&deep).problems()[0].kind, ProblemKind::TooDeep { limit: 64 }));
}

#[test]
fn an_empty_file_is_not_taken_for_the_defaults() {
    for text in ["", " \n\t", "// nothing\n", "\u{feff}/* nothing */"] {
        check(text, &["creel.json\n  the file is empty; write `{}` for the defaults, or remove the file"]);
    }
    assert!(!matches!(errors("/* open").problems()[0].kind, ProblemKind::Empty));
}

#[test]
fn many_errors_are_counted_and_the_first_ones_are_told() {
    let keys: String = (0..1_000).map(|at| format!("unknown{at}: 1,")).collect();
    let errors = errors(&format!("{{ {keys} }}"));
    assert_eq!((errors.problems().len(), errors.more()), (50, 950));
    assert!(errors.to_string().ends_with("\n\nand 950 more"));
}

#[test]
fn no_message_repeats_a_secret() {
    let texts = [
        "{ models: { providers: { x: { apiKey: ['sk-hidden'] } } } }",
        "{ models: { providers: { x: { apikey: 'sk-hidden' } } } }",
        "{ models: { providers: { x: { headers: { a: 7777777 } } } } }",
        "{ models: { providers: { x: { apiKey: 'sk-hidden } } } }",
        "{ models: { providers: { x: { apiKey: sk-hidden } } } }",
        "{ models: { providers: { x: { apiKey: { env: '' , id: 'sk-hidden' } } } } }",
        "{ plugins: { entries: { g: { config: 'sk-hidden' } } } }",
        "{ agents: { defaults: { thinkingDefault: '${SET}' } } }",
        "{ agents: { list: [{ id: '${SET}/x' }] } }",
        "{ agents: { defaults: { models: { 'a/b': { alias: '${SET}' }, 'c/d': { alias: '${SET}' } } } } }",
        "{ models: { providers: { x: { models: [{ id: '${SET}' }, { id: '${SET}' }] } } } }",
        "{ security: { installPolicy: { exec: { command: '/c', env: { A: ['sk-hidden'] } } } } }",
    ];
    for text in texts {
        let errors = errors(text);
        for shown in [errors.to_string(), format!("{errors:?}")] {
            assert!(!shown.contains("hidden") && !shown.contains("7777777") && !shown.contains("sk-from"), "{shown}");
        }
    }
}

#[test]
fn no_message_controls_the_terminal() {
    for text in
        ["{ agents: { list: [{ id: 'a\\u001b[31m' }] } }", "{ 'a\\u001b]0;x': 1 }", "{ tools: { profile: '\\u202ea\\r' } }"]
    {
        let shown = errors(text).to_string();
        assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    }
}

#[test]
fn a_substituted_secret_is_in_the_configuration_and_not_in_its_debug_output() {
    let environment = Environment::new([("SET", "sk-from-environment")], "/");
    let text = "{ models: { providers: { x: { apiKey: '${SET}', headers: { a: 'Bearer ${SET}' } } } },
                  plugins: { entries: { g: { config: { token: '${SET}' } } } } }";
    let config = parse(text, Path::new("x"), &environment).unwrap().config;
    let key = config.provider("x").unwrap().api_key.clone().unwrap();
    assert_eq!(key.resolve(&environment).unwrap().reveal(), "sk-from-environment");
    assert!(!format!("{config:?}").contains("sk-from"), "{config:?}");
}

fn locations(dir: &Path) -> Result<Locations, LocationError> {
    Locations::resolve(&Environment::new([("CREEL_STATE_DIR", dir.to_str().unwrap())], "/"))
}

#[test]
fn files_that_cannot_be_a_configuration_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let locations = locations(dir.path()).unwrap();
    let refused = || load(&locations).unwrap_err().problems()[0].clone();

    fs::create_dir(locations.config_path()).unwrap();
    assert_eq!(refused().kind, ProblemKind::NotAFile);
    fs::remove_dir(locations.config_path()).unwrap();

    fs::write(locations.config_path(), b"{\n  // gr\xc3\xbc\xc3\x9fe \xff\n}").unwrap();
    let problem = refused();
    assert_eq!((problem.kind, problem.position.unwrap().to_string()), (ProblemKind::NotUtf8, "2:12".to_owned()));

    let limit = usize::try_from(MAX_FILE_BYTES).unwrap();
    fs::write(locations.config_path(), format!("{{}}{}", " ".repeat(limit - 2))).unwrap();
    assert!(load(&locations).unwrap().existed);
    fs::write(locations.config_path(), format!("{{}}{}", " ".repeat(limit - 1))).unwrap();
    assert_eq!(refused().kind, ProblemKind::TooLarge { limit: MAX_FILE_BYTES });
}

#[test]
fn a_missing_file_means_the_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let loaded = load(&locations(dir.path()).unwrap()).unwrap();
    assert_eq!((loaded.existed, loaded.warnings.len(), loaded.path), (false, 0, dir.path().join("creel.json")));
    assert!(loaded.config.plugins.enabled);

    let named = dir.path().join("other.json");
    let environment = Environment::new([("HOME", "/nowhere"), ("CREEL_CONFIG_PATH", named.to_str().unwrap())], "/");
    let loaded = load(&Locations::resolve(&environment).unwrap()).unwrap();
    assert_eq!((loaded.existed, loaded.warnings), (false, vec![Warning::NamedFileMissing]));
    fs::write(&named, "{ messages: { responsePrefix: 'x' } }").unwrap();
    let loaded = load(&Locations::resolve(&environment).unwrap()).unwrap();
    assert_eq!((loaded.existed, loaded.config.messages.response_prefix.as_deref()), (true, Some("x")));
}

#[test]
fn other_checks_can_ask_for_a_place() {
    let dir = tempfile::tempdir().unwrap();
    let locations = locations(dir.path()).unwrap();
    fs::write(
        locations.config_path(),
        "{ plugins: { entries: { g: { config: {\n  list: [1, 'two'], token: 'sk-hidden' } } } } }",
    )
    .unwrap();
    let loaded = load(&locations).unwrap();
    let settings = serde_json::Value::Object(loaded.config.plugin_entry("g").unwrap().config.as_map().clone());
    let key = KeyPath::of("plugins.entries.g.config").join_pointer("/list/1", &settings);
    assert_eq!(key.to_string(), "plugins.entries.g.config.list[1]");
    assert_eq!(loaded.position(&key).unwrap().to_string(), "2:13");
    assert_eq!(loaded.position(&key.index(0)), None);
    assert!(!format!("{loaded:?}").contains("hidden"));
}
