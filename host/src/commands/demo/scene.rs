//! The scenes of the demo: what the user says, and what to look at.

/// One scene.
pub(super) struct Scene {
    /// What the user says.
    pub(super) message: &'static str,
    /// What the reader should see.
    pub(super) caption: &'static str,
}

/// All scenes, in the order of the script.
pub(super) const SCENES: &[Scene] = &[
    Scene {
        message: "What is in my notes?",
        caption: "context-injector adds guidance to the system prompt and a note to this turn",
    },
    Scene { message: "The disk is full, clean it up.", caption: "tool-guard blocks a destructive command" },
    Scene { message: "Push my branch.", caption: "tool-guard asks a person; here the person says no" },
    Scene {
        message: "Is the release signed?",
        caption: "secret-redactor keeps a signing key out of the transcript and away from the model",
    },
    Scene { message: "Announce the product.", caption: "outbound-filter rewrites a code name on the way out" },
    Scene { message: "Any news from HR?", caption: "outbound-filter cancels a message that must not leave" },
    Scene { message: "How long is a marathon?", caption: "unit-convert is a tool of a plugin" },
    Scene { message: "Prove something.", caption: "model-router sends this one to another model" },
    Scene { message: "ping", caption: "auto-responder answers without a model" },
];

/// Files of the scratch workspace.
pub(super) const FILES: &[(&str, &str)] =
    &[("notes.txt", "Buy rope and bait.\n"), ("release.txt", "Region north. The release is signed with ACME-7F3K-99XQ.\n")];

/// What must be nowhere but in the file that it was read from.
pub(super) const SECRET: &str = "ACME-7F3K-99XQ";
