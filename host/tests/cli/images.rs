//! `creel agent --image`: from the file to the request that the provider gets.

use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, Provider, stderr, stdout};

/// A picture of one pixel.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00;";
const GIF_BASE64: &str = "R0lGODlhAQABAAAAACwAAAAAAQABAAACADs=";

fn with_provider(input: Value) -> (Bed, Provider) {
    let provider = Provider::start();
    let bed = Bed::configured(&json!({
        "agents": { "defaults": { "model": "local/eye", "skipBootstrap": true } },
        "models": { "providers": { "local": {
            "baseUrl": provider.base_url(), "models": [{ "id": "eye", "input": input }],
        } } },
    }));
    bed.file("one.gif", GIF);
    bed.file("two.jpg", b"\x89PNG\r\n\x1a\n by its content");
    (bed, provider)
}

/// The last message of the request.
fn question(provider: &Provider) -> Value {
    provider.request()["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

#[test]
fn pictures_reach_the_provider_in_their_order() {
    let (bed, provider) = with_provider(json!(["text", "image"]));
    bed.creel(&["agent", "--message", "what is this?", "--image", "one.gif", "--image", "two.jpg"])
        .success()
        .stdout("seen\n")
        .stderr("");
    let content = question(&provider);
    assert_eq!(content[0], json!({ "type": "text", "text": "what is this?" }));
    assert_eq!(content[1]["image_url"]["url"], format!("data:image/gif;base64,{GIF_BASE64}"));
    let second = content[2]["image_url"]["url"].as_str().unwrap();
    assert!(second.starts_with("data:image/png;base64,iVBORw0KGgo"), "{second}");

    let shown = stdout(&bed.creel(&["sessions", "show"]).success());
    assert!(shown.contains("  what is this?\n  (picture, image/gif)\n  (picture, image/png)\n"), "{shown}");
    assert_eq!(bed.transcript("main")[1]["message"]["content"][1]["data"], GIF_BASE64);
}

#[test]
fn a_model_that_reads_no_pictures_is_told_of_them_and_so_is_the_person() {
    let (bed, provider) = with_provider(json!(["text"]));
    let told = contains("the model does not read images");
    bed.creel(&["agent", "--message", "what is this?", "--image", "one.gif"]).success().stdout("seen\n").stderr(told);
    let content = question(&provider).to_string();
    assert!(content.contains("image left out") && !content.contains(GIF_BASE64), "{content}");
}

#[test]
fn what_is_no_picture_is_refused_before_anything_runs() {
    let bed = Bed::new();
    bed.file("drawing.png", "<svg/>");
    bed.file("large.gif", [GIF, &vec![0; 5 * 1024 * 1024]].concat());
    bed.file("one.gif", GIF);
    let many: Vec<&str> = (0..11).flat_map(|_| ["--image", "one.gif"]).collect();
    for (images, parts) in [
        (
            &["--image", "drawing.png"][..],
            &["drawing.png is none by its content", "PNG, JPEG, GIF and WebP", "hint: convert it"][..],
        ),
        (&["--image", "one.gif", "--image", "large.gif"], &["large.gif is larger than 5 MiB", "hint: make it smaller"]),
        (&["--image", "/dev/zero"], &["/dev/zero is larger than 5 MiB"]),
        (&["--image", "nowhere.gif"], &["nowhere.gif cannot be read", "No such file"]),
        (&["--image", "."], &["cannot be read", "directory"]),
        (&many, &["11 pictures are too many", "at most 10"]),
    ] {
        let mut arguments = vec!["agent", "--message", "hi"];
        arguments.extend(images);
        let assert = bed.creel(&arguments).code(2).stdout("");
        for part in parts {
            assert!(stderr(&assert).contains(part), "`{part}`: {}", stderr(&assert));
        }
    }
    assert_eq!(bed.sessions(), Vec::<Value>::new());
}
