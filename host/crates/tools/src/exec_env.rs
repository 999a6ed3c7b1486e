//! Which variables of a plugin reach a command (plugin-hooks 5.12). Variables that change what code runs, where its traffic goes or
//! whom it trusts are dropped, whoever sets them. Pure; the values are never put into texts.

use std::collections::BTreeMap;

/// A variable that was dropped. Its value is not kept: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedKey {
    /// Name, as given.
    pub name: String,
    /// Why.
    pub reason: DropReason,
}

/// Why a variable was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DropReason {
    /// Not letters, digits and `_`, or it begins with a digit.
    #[error("the name is not valid")]
    InvalidName,
    /// A value that no process can be given.
    #[error("the value holds a NUL character")]
    InvalidValue,
    /// `PATH`.
    #[error("it decides which programs run")]
    Path,
    /// Read by the dynamic loader.
    #[error("the dynamic loader reads it")]
    Loader,
    /// Makes a shell, language runtime or tool load or run code.
    #[error("it makes a program load or run other code")]
    Injector,
    /// Redirects traffic.
    #[error("it redirects network traffic")]
    Proxy,
    /// Changes whom TLS trusts.
    #[error("it changes whom TLS connections trust")]
    Tls,
}

/// Names by prefix.
const PREFIXES: [(&str, DropReason); 6] = [
    ("LD_", DropReason::Loader),
    ("DYLD_", DropReason::Loader),
    ("GLIBC_", DropReason::Loader),
    // `GIT_CONFIG_KEY_0` and the like set any option of git, commands among them; npm and pip take every option from the environment,
    // the shell and the package source among them.
    ("GIT_CONFIG", DropReason::Injector),
    ("NPM_CONFIG_", DropReason::Injector),
    ("PIP_", DropReason::Injector),
];

/// Whole names, by reason. Compared without regard to case, so that both spellings of a proxy are one.
const NAMES: [(DropReason, &[&str]); 5] = [
    (DropReason::Path, &["PATH"]),
    (DropReason::Loader, &["GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_CHECK_", "LIBPATH", "SHLIB_PATH"]),
    (DropReason::Injector, INJECTORS),
    (
        DropReason::Proxy,
        &[
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "FTP_PROXY",
            "SOCKS_PROXY",
            "RSYNC_PROXY",
            "WS_PROXY",
            "WSS_PROXY",
        ],
    ),
    (DropReason::Tls, TLS),
];

#[rustfmt::skip]
const INJECTORS: &[&str] = &[
    // Shells.
    "BASH_ENV", "BASHOPTS", "CDPATH", "ENV", "FPATH", "IFS", "PROMPT_COMMAND", "PS4", "SHELL", "SHELLOPTS", "ZDOTDIR",
    // JavaScript.
    "BUN_OPTIONS", "DENO_DIR", "ELECTRON_RUN_AS_NODE", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE",
    // Python.
    "PYTHONBREAKPOINT", "PYTHONEXECUTABLE", "PYTHONHOME", "PYTHONINSPECT", "PYTHONPATH", "PYTHONPLATLIBDIR", "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONWARNINGS",
    // Perl, Ruby, PHP, Lua, R, Julia, Erlang.
    "PERL5DB", "PERL5LIB", "PERL5OPT", "PERLLIB", "BUNDLE_GEMFILE", "GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT", "RUBYSHELL",
    "PHPRC", "PHP_INI_SCAN_DIR", "LUA_CPATH", "LUA_INIT", "LUA_PATH", "R_ENVIRON", "R_PROFILE", "JULIA_LOAD_PATH", "ERL_AFLAGS",
    "ERL_FLAGS", "ERL_ZFLAGS",
    // JVM and .NET.
    "CLASSPATH", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "GRADLE_OPTS", "MAVEN_OPTS",
    "COMPLUS_PROFAPI_PROFILERCOMPATIBILITYSETTING", "CORECLR_ENABLE_PROFILING", "CORECLR_PROFILER_PATH", "DOTNET_STARTUP_HOOKS",
    // Where programs look for a user's configuration, and with it for commands.
    "HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME",
    // Builds.
    "CARGO_HOME", "CC", "CXX", "GOFLAGS", "MAKEFLAGS", "RUSTC_WRAPPER", "RUSTFLAGS",
    // Tools that run what they are told.
    "BROWSER", "EDITOR", "GIT_ASKPASS", "GIT_EDITOR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_TEMPLATE_DIR", "LESSCLOSE", "LESSOPEN", "MANPAGER", "PAGER",
    "SSH_ASKPASS", "SUDO_ASKPASS", "SUDO_EDITOR", "TERMINFO", "VISUAL",
];

#[rustfmt::skip]
const TLS: &[&str] = &[
    "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE",
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY", "OPENSSL_CONF",
    "PYTHONHTTPSVERIFY", "DENO_TLS_CA_STORE",
];

/// Parts what a command may get from what it may not.
pub fn filter_env(variables: BTreeMap<String, String>) -> (BTreeMap<String, String>, Vec<DroppedKey>) {
    let mut dropped = Vec::new();
    let mut kept = BTreeMap::new();
    for (name, value) in variables {
        match reason(&name, &value) {
            Some(reason) => dropped.push(DroppedKey { name, reason }),
            None => {
                kept.insert(name, value);
            }
        }
    }
    (kept, dropped)
}

fn reason(name: &str, value: &str) -> Option<DropReason> {
    if !is_valid_name(name) {
        return Some(DropReason::InvalidName);
    }
    if value.contains('\0') {
        return Some(DropReason::InvalidValue);
    }
    let upper = name.to_ascii_uppercase();
    let by_prefix = PREFIXES.iter().find(|(prefix, _)| upper.starts_with(prefix)).map(|(_, reason)| *reason);
    by_prefix.or_else(|| NAMES.iter().find(|(_, names)| names.contains(&upper.as_str())).map(|(reason, _)| *reason))
}

fn is_valid_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(name: &str) -> Option<DropReason> {
        let (kept, dropped) = filter_env(BTreeMap::from([(name.to_owned(), "v".to_owned())]));
        assert_eq!(kept.len() + dropped.len(), 1, "{name} is either kept or dropped");
        dropped.first().map(|key| key.reason)
    }

    #[test]
    fn each_kind_of_dangerous_name_is_dropped_in_either_case() {
        let rows = [
            (DropReason::Path, vec!["PATH"]),
            (DropReason::Loader, vec!["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES"]),
            (
                DropReason::Injector,
                vec![
                    "NODE_OPTIONS",
                    "PYTHONPATH",
                    "PYTHONSTARTUP",
                    "PERL5OPT",
                    "PERL5LIB",
                    "RUBYOPT",
                    "JAVA_TOOL_OPTIONS",
                    "_JAVA_OPTIONS",
                    "BASH_ENV",
                    "ENV",
                    "IFS",
                    "GIT_SSH_COMMAND",
                    "GIT_SSH",
                    "GIT_CONFIG_COUNT",
                    "GIT_CONFIG_GLOBAL",
                    "npm_config_script_shell",
                    "PIP_INDEX_URL",
                    "DOTNET_STARTUP_HOOKS",
                    "RUSTC_WRAPPER",
                    "GIT_EXTERNAL_DIFF",
                    "LESSOPEN",
                    "HOME",
                ],
            ),
            (DropReason::Proxy, vec!["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]),
            (DropReason::Tls, vec!["NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"]),
        ];
        for (reason, names) in rows {
            for name in names {
                assert_eq!(reason_of(name), Some(reason), "{name}");
                assert_eq!(reason_of(&name.to_ascii_lowercase()), Some(reason), "{name}");
            }
        }
    }

    #[test]
    fn names_that_are_not_valid_are_dropped() {
        for name in ["", "1A", "A-B", "A B", "A=B", "A\0", "Ä", "A.B"] {
            assert_eq!(reason_of(name), Some(DropReason::InvalidName), "{name:?}");
        }
    }

    #[test]
    fn a_value_that_no_process_can_get_is_dropped() {
        let (kept, dropped) = filter_env(BTreeMap::from([("A".to_owned(), "x\0y".to_owned())]));
        assert!(kept.is_empty());
        assert_eq!(dropped, [DroppedKey { name: "A".to_owned(), reason: DropReason::InvalidValue }]);
    }

    #[test]
    fn ordinary_names_are_kept() {
        for name in ["GITHUB_TOKEN", "_X", "MY_PATH", "OLD_VALUE", "PATHOLOGY", "DATABASE_URL", "CI"] {
            assert_eq!(reason_of(name), None, "{name}");
        }
    }

    #[test]
    fn the_lists_hold_upper_case_names_only_once() {
        let mut all: Vec<&str> = NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert!(all.iter().all(|name| is_valid_name(name) && name.to_ascii_uppercase() == *name));
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}
