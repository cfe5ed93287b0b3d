use std::fmt::Write;

use sinew_robot::{Code, component::Verb, teach::OPS, vacuum::components::COMPONENTS};

/// Every code, in the order of the page.
const CODES: [(Code, &str); 12] = [
    (Code::InvalidJson, "the message is not JSON"),
    (Code::InvalidArgument, "a member is missing, unknown or out of range"),
    (Code::Unsupported, "the robot, component or port cannot do it"),
    (Code::NotFound, "no such robot, action or file"),
    (Code::NotReady, "the robot is not in a state to do it: booting, stopped, at a bumper"),
    (Code::Busy, "another client holds the controls, and is named; or too much waits already"),
    (Code::NotConfirmed, "it can hurt: `\"confirm\": true` is missing"),
    (Code::Unauthorized, "the token does not allow it"),
    (Code::LinkLost, "the robot cannot be reached"),
    (Code::Refused, "the robot said no"),
    (Code::Unconfirmed, "the robot did not say"),
    (Code::TooLarge, "the message is too long; over 1 MiB the connection is closed"),
];

fn components() -> String {
    let mut table = String::from(
        "| component | what it is | Enable | Disable | Reset | Configure |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for component in COMPONENTS {
        write!(table, "| `{}` | {} |", component.id, component.what).unwrap();
        for verb in Verb::ALL {
            let cell = component.actions.iter().find(|action| action.verb == verb).map_or(
                "-".to_owned(),
                |action| {
                    let confirm = if action.confirm { " **(confirm)**" } else { "" };
                    let sets: Vec<_> = action
                        .configs
                        .iter()
                        .filter(|set| !set.is_empty())
                        .map(|set| {
                            let params: Vec<_> = set
                                .iter()
                                .map(|param| {
                                    let optional = if param.optional { "?" } else { "" };
                                    format!("`{}{optional}: {:?}`", param.name, param.kind)
                                })
                                .collect();
                            params.join(" ")
                        })
                        .collect();
                    let config = if sets.is_empty() {
                        String::new()
                    } else {
                        format!(": {}", sets.join(" or "))
                    };
                    format!("{}{config}{confirm}", action.what)
                },
            );
            write!(table, " {cell} |").unwrap();
        }
        table.push('\n');
    }
    table
}

fn ops() -> String {
    let mut table = String::from(
        "| `op` | what it does | members | answer's `data` |\n| --- | --- | --- | --- |\n",
    );
    for op in OPS {
        let mut members: Vec<_> = op.needs.iter().map(|name| format!("`{name}`")).collect();
        members.extend(op.target.then(|| "`id` or `name`".into()));
        members.extend(op.takes.iter().map(|name| format!("`{name}`?")));
        let members = members.join(", ");
        writeln!(table, "| `{}` | {} | {members} | {} |", op.op, op.what, op.answers).unwrap();
    }
    table
}

fn codes() -> String {
    let mut table = String::from("| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in CODES {
        writeln!(table, "| `{}` | {meaning} |", code.as_str()).unwrap();
    }
    table
}

/// With `SINEW_UPDATE_DOCS` set the page is rewritten instead of compared.
#[test]
fn the_tables_of_the_api_page_are_those_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut wanted = page.clone();
    for (name, table) in [("components", components()), ("ops", ops()), ("codes", codes())] {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        let start = wanted.find(&open).unwrap() + open.len();
        let end = wanted.find(&close).unwrap();
        wanted.replace_range(start..end, &table);
    }
    if std::env::var_os("SINEW_UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).unwrap();
    }
    assert!(page == wanted, "docs/api.md is old: run the test with SINEW_UPDATE_DOCS=1");
}
