//! The message of a run: taken from the command line, a file or stdin. It is never changed, except for the byte-order mark of a file.

use std::path::Path;

use agent::error::AcceptError;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::args::AgentArgs;
use crate::exit::Failure;

/// Largest message file, in bytes. A message is a prompt, not a data set.
const MAX_MESSAGE_BYTES: u64 = 4 * 1024 * 1024;

/// The message, checked as far as that is possible before anything is loaded.
pub(super) async fn read(args: &AgentArgs) -> Result<String, Failure> {
    let message = match (&args.message, &args.message_file) {
        (Some(text), _) => text.clone(),
        (None, Some(path)) => read_file(path).await?,
        (None, None) => return Err(Failure::usage("give the message with --message or --message-file")),
    };
    if message.trim().is_empty() {
        return Err(Failure::usage(AcceptError::EmptyMessage.to_string()));
    }
    refuse_command(&message)?;
    Ok(message)
}

async fn read_file(path: &Path) -> Result<String, Failure> {
    if path == Path::new("-") {
        return read_all("stdin", tokio::io::stdin()).await;
    }
    let name = path.display().to_string();
    let file = tokio::fs::File::open(path).await.map_err(|error| unreadable(&name, &error))?;
    read_all(&name, file).await
}

async fn read_all(name: &str, source: impl AsyncRead + Unpin) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    source.take(MAX_MESSAGE_BYTES + 1).read_to_end(&mut bytes).await.map_err(|error| unreadable(name, &error))?;
    decode(name, bytes)
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("the message file {name} cannot be read: {error}"))
}

/// UTF-8 only; a leading byte-order mark is removed, line breaks are kept (agent-loop 2.2.1).
fn decode(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() as u64 > MAX_MESSAGE_BYTES {
        return Err(Failure::usage(format!("the message file {name} is larger than {} MiB", MAX_MESSAGE_BYTES >> 20))
            .hint("put the material into a file of the workspace and name that file in the message"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("the message file {name} is not UTF-8: the byte at offset {at} does not belong to any character"))
            .hint("convert it, for example with `iconv -t UTF-8`")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Slash commands are not run from a message (agent-loop 2.1.5).
fn refuse_command(message: &str) -> Result<(), Failure> {
    let word = message.split_whitespace().next().unwrap_or_default();
    let hint = match word {
        "/new" | "/reset" => "`creel agent --new-session --message …` begins a new transcript",
        "/stop" => "interrupt the running command instead",
        "/model" => "`creel agent --model provider/model …` chooses the model of a run",
        "/think" | "/thinking" => "`creel agent --thinking level …` chooses the level of a run",
        "/compact" | "/queue" | "/steer" | "/status" | "/help" | "/name" | "/verbose" | "/reasoning" => {
            "it belongs to a chat; the command line of this version has nothing like it"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("`{word}` is a chat command and is not run from a message")).hint(hint))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::exit::Code;

    #[test]
    fn a_message_file_is_utf8_without_its_mark() {
        assert_eq!(decode("f", b"\xef\xbb\xbfa\r\nb".to_vec()).unwrap(), "a\r\nb");
        let failure = decode("f", b"ab\xffc".to_vec()).unwrap_err();
        assert_eq!(failure.code, Code::Usage);
        assert!(failure.message.contains("offset 2"), "{}", failure.message);
    }

    #[test]
    fn the_size_of_a_message_file_has_a_limit() {
        let largest = vec![b'a'; usize::try_from(MAX_MESSAGE_BYTES).unwrap()];
        assert!(decode("f", largest.clone()).is_ok());
        assert!(decode("f", [largest, vec![b'a']].concat()).is_err());
    }

    #[test]
    fn chat_commands_are_refused_and_paths_are_not() {
        assert!(refuse_command("/new").is_err());
        assert!(refuse_command("  /model x").is_err());
        assert!(refuse_command("/usr/bin is a directory").is_ok());
    }
}
