//! What is said when all plugins are planned: about required ones that do not load, about two with one id, about what has no effect.

use super::*;

/// Plugins without which the host does not serve, and that do not load.
fn unguarded(plan: &Plan) -> Vec<&str> {
    let stopping = plan.reports.iter().filter(|report| report.required && report.state != PluginState::Loaded);
    stopping.map(|report| report.id.as_ref().unwrap().as_str()).collect()
}

/// Why the plugin at a place does not load.
fn fault_at(plan: &Plan, place: &Path) -> String {
    match plan.reports.iter().find(|report| report.place.as_deref() == Some(place)).map(|report| &report.state) {
        Some(PluginState::Failed(why)) => why.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_required_plugin_that_does_not_load_stops_serving_whatever_the_reason() {
    let home = Home::new();
    home.plugin("installed/broken", &json!({}), b"").plugin("installed/off", &json!({}), &component(&[], &["agent-end"]));
    home.plugin("installed/nameless", &json!({ "component": null }), b"").plugin(
        "installed/fine",
        &json!({}),
        &component(&[], &["agent-end"]),
    );
    let off = PluginSettings { enabled: Some(false), ..required() };
    let mut settings =
        entries([("broken", required()), ("off", off), ("nameless", required()), ("fine", required()), ("gone", required())]);
    let plan = home.survey(&settings);
    assert_eq!(unguarded(&plan), ["broken", "nameless", "off", "gone"]);
    let gone = plan.reports.last().unwrap();
    assert_eq!(
        gone.state,
        PluginState::Failed("plugins.entries.gone requires it, and no plugin with this id was found".to_owned())
    );

    settings.switches.enabled = false;
    let plan = home.survey(&settings);
    assert_eq!((plan.plugins.len(), unguarded(&plan).len()), (0, 5));
}

/// A plugin that the operator put first is not replaced by another one because it broke; and what stands behind one that works stops
/// nothing, however much it is required.
#[test]
fn of_two_plugins_with_one_id_the_first_counts_whether_or_not_it_loads() {
    let fine = component(&[], &["agent-end"]);
    for (more, bytes, fault) in
        [(json!({}), &b"cut"[..], "is not WebAssembly"), (json!({ "component": null }), &fine[..], "`component` is missing")]
    {
        let home = Home::new();
        home.plugin("installed/guard", &more, bytes).plugin("workspace/guard", &json!({}), &fine);
        let plan = home.survey(&entries([("guard", PluginSettings { enabled: Some(true), ..required() })]));
        assert_eq!((ids(&plan), unguarded(&plan)), (vec![], vec!["guard", "guard"]));
        let (first, second) = (home.path("installed/guard"), home.path("workspace/guard"));
        let told = fault_at(&plan, &first);
        let not_taken = format!("; {} has the same id and is not taken in its place", second.display());
        assert!(told.contains(fault) && told.ends_with(&not_taken), "{told}");
        let told = fault_at(&plan, &second);
        assert!(told.starts_with("two plugins have the id `guard`") && told.contains(fault), "{told}");
    }

    let home = Home::new();
    home.plugin("installed/guard", &json!({}), &fine).plugin("workspace/guard", &json!({}), b"");
    let plan = home.survey(&entries([("guard", required())]));
    assert_eq!((ids(&plan), unguarded(&plan)), (vec!["guard"], vec![]));
    assert!(fault_at(&plan, &home.path("workspace/guard")).ends_with("is left out; remove one"));
}

/// A required plugin may be the one that nobody can read; then that is said.
#[test]
fn a_required_plugin_that_is_missing_may_be_one_that_cannot_be_read() {
    let home = Home::new();
    fs::create_dir_all(home.path("installed/guard")).unwrap();
    fs::write(home.path("installed/guard").join(FILE_NAME), "{").unwrap();
    let plan = home.survey(&entries([("guard", required())]));
    let PluginState::Failed(told) = &plan.reports.last().unwrap().state else { panic!() };
    assert!(
        told.contains("no plugin with this id was found; perhaps it is here: ") && told.contains("EOF while parsing"),
        "{told}"
    );
}

#[test]
fn resources_that_have_no_effect_are_told() {
    let home = Home::new();
    fs::create_dir_all(home.path("installed/kit/prompts")).unwrap();
    fs::write(home.path("installed/kit/package.json"), r#"{ "openclaw": {} }"#).unwrap();
    fs::write(home.path("installed/kit/prompts/p.md"), "").unwrap();
    let told = home.survey(&PluginsSettings::default()).diagnostics;
    assert_eq!(
        told,
        [format!("{} brings 1 prompts, which this version of the host does not use", home.path("installed/kit").display())]
    );
}
