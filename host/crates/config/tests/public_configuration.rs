//! A file of the public configuration carries over: keys of parts that this version does not have are listed once and ignored, and
//! a slip among them is still an error (runtime 11.1.2, R15).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::path::Path;

use config::{Environment, Parsed, Warning, parse};

/// One key of each row of the table of keys (runtime 11.2), as an operator would have it.
const PUBLIC: &str = r#"{
  meta: { lastTouchedVersion: "1" },
  agents: {
    defaults: {
      repoRoot: "/r", model: { primary: "p/m", fallbacks: [] }, maxConcurrent: 4, verboseDefault: "off", reasoningDefault: "off",
      elevatedDefault: "on", toolProgressDetail: "explain", startupContext: { enabled: true }, imageMaxDimensionPx: 1200,
      imageQuality: "auto", timeFormat: "auto", runRetries: { base: 24 }, blockStreamingDefault: "off", humanDelay: { mode: "off" },
      contextLimits: { memoryGetMaxChars: 12000, memoryGetDefaultLines: 120, postCompactionMaxChars: 1800, toolResultMaxChars: 9 },
      typingMode: "never", typingIntervalSeconds: 6, silentReply: {}, contextPruning: { mode: "off", ttl: "5m" },
      compaction: { mode: "safeguard" }, heartbeat: { every: "30m" }, subagents: { maxConcurrent: 8 }, sandbox: { mode: "all" },
      models: { "p/m": { alias: "m", agentRuntime: { id: "pi" } } }, utilityModel: "",
    },
    list: [{ id: "main", identity: { name: "x" }, sandbox: { mode: "off" }, tools: { byProvider: {} } }],
  },
  session: { scope: "per-sender", dmScope: "main", reset: { mode: "daily" }, maintenance: {}, writeLock: { staleMs: 1 }, sendPolicy: {} },
  messages: { queue: { mode: "steer" }, inbound: { debounceMs: 1 }, visibleReplies: "automatic", groupChat: {} },
  models: { providers: { p: { baseUrl: "https://p.test/v1", auth: "api-key", authHeader: true, contextTokens: 1, request: {}, params: {},
    agentRuntime: {}, localService: {}, models: [{ id: "m", compat: {}, contextTokens: 1, agentRuntime: {} }] } } },
  auth: { order: {} },
  tools: { toolsBySender: {}, exec: { security: "deny", backgroundMs: 1, timeoutSec: 5 }, loopDetection: {}, subagents: {}, web: {} },
  skills: { allowBundled: [] },
  plugins: { slots: { "memory.recall": "x" }, entries: { g: { llm: {}, subagent: {}, capabilities: { cron: true } } } },
  hooks: { internal: { enabled: true } },
  approvals: { exec: {}, plugin: { mode: "session", agentFilter: [] } },
  cron: {}, commands: {}, diagnostics: {}, audit: {}, surfaces: {}, gateway: { port: 18789 }, channels: {}, browser: {},
  logging: { maxFileBytes: 1, file: "/x", redactPatterns: ["x"] },
}"#;

fn parsed(text: &str) -> Parsed {
    let environment = Environment::new([("", ""); 0], "/");
    parse(text, Path::new("creel.json"), &environment).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn keys_of_absent_parts_are_listed_once_and_ignored() {
    let parsed = parsed(PUBLIC);
    let [Warning::IgnoredRestrictions(restrictions), Warning::Ignored(ignored)] = parsed.warnings.as_slice() else {
        panic!("{:?}", parsed.warnings)
    };
    let restrictions: Vec<_> = restrictions.iter().map(ToString::to_string).collect();
    assert_eq!(
        restrictions,
        [
            "agents.defaults.sandbox",
            "agents.list[0].sandbox",
            "agents.list[0].tools.byProvider",
            "logging.redactPatterns",
            "session.sendPolicy",
            "tools.exec.security",
            "tools.loopDetection",
            "tools.toolsBySender",
        ]
    );
    let ignored: Vec<_> = ignored.iter().map(ToString::to_string).collect();
    for key in ["gateway", "channels", "session.reset", "agents.defaults.heartbeat", "models.providers.p.models[0].compat"] {
        assert_eq!(ignored.iter().filter(|ignored| *ignored == key).count(), 1, "{key}");
    }
    assert!(!ignored.iter().any(|key| key == "agents.defaults.contextLimits" || key == "tools.exec"), "{ignored:?}");
    assert_eq!(parsed.config.tools.exec.timeout_sec.unwrap().get(), 5);
    assert_eq!(parsed.config.agents.defaults.context_limits.tool_result_max_chars, Some(9));
}

#[test]
fn a_slip_among_foreign_keys_is_an_error_of_its_own() {
    let text = PUBLIC.replacen("  auth: {", "  sesion: {},\n  auth: {", 1);
    let errors = parse(&text, Path::new("creel.json"), &Environment::new([("", ""); 0], "/")).unwrap_err().to_string();
    assert_eq!(
        errors,
        "the configuration creel.json has 1 error\n\ncreel.json:19:3: sesion\n  unknown key; did you mean `session`?"
    );
}

#[test]
fn variables_in_ignored_parts_need_not_be_set() {
    assert_eq!(parsed("{ channels: { x: { token: '${NOT_SET}' } } }").warnings.len(), 1);
}

#[test]
fn settings_without_the_effect_that_they_seem_to_have_are_told() {
    let parsed = parsed(
        "{ session: { mainKey: 'home' }, agents: { defaults: { timeoutSeconds: 60 }, list: [{ id: 'a' }, { id: 'b', default: true }, { id: 'c', default: true }] },
           models: { providers: { x: { api: 'anthropic-messages', timeoutSeconds: '2m', apiKey: { env: 'NOT_SET' } } } },
           security: { installPolicy: { enabled: true } } }",
    );
    let told: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 6, "{told:#?}");
    assert!(told[0].contains("the first one, `b`"), "{told:#?}");
    assert!(told[1].starts_with("session.mainKey: it has no effect"), "{told:#?}");
    assert!(told[2].starts_with("models.providers.x.api: this version cannot speak anthropic-messages"), "{told:#?}");
    assert!(
        told[3].starts_with("models.providers.x.timeoutSeconds: 120 s have no effect, because a run ends after 60 s"),
        "{told:#?}"
    );
    assert!(told[4].starts_with("models.providers.x.apiKey: the environment variable `NOT_SET` is not set"), "{told:#?}");
    assert!(told[5].contains("every installation is blocked"), "{told:#?}");
}
