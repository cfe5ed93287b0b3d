use std::fmt::Write;

use sinew_api::{Access, COMMANDS, Case, Member, Row, Terms, When, schema};
use sinew_robot::{Code, Remedy, component::Verb, vacuum::components::COMPONENTS};

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

/// What helps, and how clients of the interface do it.
const REMEDIES: [(Remedy, &str); 8] = [
    (Remedy::TakeControl, "`TakeControl`"),
    (Remedy::Confirm, "the same with `\"confirm\": true`"),
    (Remedy::Enable, "`drive` Enable"),
    (Remedy::NameRobot, "the same with a `robot`"),
    (Remedy::ShowToken, "`Auth` with a token that may"),
    (Remedy::UseLibrary, "the same with `\"library\": true`"),
    (Remedy::Enter, "`Teach` `enter`"),
    (Remedy::Exit, "`Teach` `exit`"),
];

fn commands() -> String {
    let mut table = String::from(
        "| command | what it does | members | capability | access | controls | connection | \
         reply's `data` |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in COMMANDS {
        let Row { name, what, reply, terms, .. } = row;
        let reply = if reply.is_empty() { "null" } else { reply };
        let (members, can, rules) = (members(row), capability(terms), rules(terms));
        writeln!(table, "| `{name}` | {what} | {members} | {can} | {rules} | {reply} |").unwrap();
        // Those of ops stand with the ops.
        for Case { of, terms } in row.cases.iter().filter(|_| row.ops.is_empty()) {
            let of: Vec<_> =
                of.iter().map(|(member, value)| format!("`{member}` `{value}`")).collect();
            let (of, can, rules) = (of.join(", "), capability(terms), self::rules(terms));
            writeln!(table, "| | with {of} | | {can} | {rules} | |").unwrap();
        }
    }
    table
}

fn members(row: &Row) -> String {
    if !row.ops.is_empty() {
        return "`op` and its members".into();
    }
    let member = |Member { name, required, what, .. }: &Member| {
        format!("`{name}`{}: {what}", if *required { "" } else { "?" })
    };
    let confirm = row.confirm.map(|_| "`confirm`".into());
    row.members.iter().map(member).chain(confirm).collect::<Vec<_>>().join("; ")
}

fn capability(terms: &Terms) -> String {
    let name = |capability| serde_json::to_value(capability).unwrap().as_str().unwrap().to_owned();
    terms.capability.map_or("-".into(), name)
}

fn rules(terms: &Terms) -> String {
    let access = match terms.access {
        Access::Nothing => "-",
        Access::Read => "read",
        Access::Control => "control",
    };
    let when = |when: When| match when {
        When::Never => "-".into(),
        When::Always => "yes".into(),
        When::If(member) => format!("with `{member}`"),
        When::Unless(member) => format!("unless `{member}`"),
        When::Robot(words) => words.into(),
    };
    format!("{access} | {} | {}", when(terms.controls), when(terms.connection.0))
}

fn examples() -> String {
    let lines: Vec<_> = COMMANDS.iter().map(|row| row.example).collect();
    format!("```json\n{}\n```\n", lines.join("\n"))
}

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

fn ops(command: &str) -> String {
    let row = COMMANDS.iter().find(|row| row.name == command).unwrap();
    let mut table = String::from(
        "| `op` | what it does | members | access | controls | connection | reply's `data` |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for op in row.ops {
        let mut members: Vec<_> = op.needs.iter().map(|name| format!("`{name}`")).collect();
        members.extend(op.target.then(|| "`id` or `name`".into()));
        members.extend(op.takes.iter().map(|name| format!("`{name}`?")));
        members.extend(op.confirm.map(|_| "`confirm`".into()));
        let members = members.join(", ");
        let case = row.cases.iter().find(|case| case.of == [("op", op.op)]);
        let rules = rules(case.map_or(&row.terms, |case| &case.terms));
        let (name, what, reply) = (op.op, op.what, op.answers);
        writeln!(table, "| `{name}` | {what} | {members} | {rules} | {reply} |").unwrap();
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

fn remedies() -> String {
    let mut table = String::from("| remedy | what helps |\n| --- | --- |\n");
    for (remedy, what) in REMEDIES {
        let remedy = serde_json::to_value(remedy).unwrap();
        writeln!(table, "| `{}` | {what} |", remedy.as_str().unwrap()).unwrap();
    }
    table
}

#[test]
fn every_remedy_is_explained() {
    let schema = schema::document();
    let known = schema["$defs"]["Remedy"]["oneOf"].as_array().unwrap();
    let known: Vec<_> = known.iter().map(|remedy| remedy["const"].clone()).collect();
    let explained = REMEDIES.map(|(remedy, _)| serde_json::to_value(remedy).unwrap());
    assert_eq!(explained.to_vec(), known);
}

#[test]
fn every_code_is_explained() {
    let schema = schema::document();
    let known = schema["$defs"]["Code"]["oneOf"].as_array().unwrap();
    let known: Vec<_> = known.iter().map(|code| code["const"].as_str().unwrap()).collect();
    assert_eq!(CODES.map(|(code, _)| code.as_str()).to_vec(), known);
}

/// With `SINEW_UPDATE_DOCS` set a file is rewritten instead of compared.
fn check(name: &str, make: impl Fn(&str) -> String) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted = make(&page);
    if std::env::var_os("SINEW_UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).unwrap();
        return;
    }
    assert!(page == wanted, "docs/{name} is old: run the test with SINEW_UPDATE_DOCS=1");
}

#[test]
fn the_tables_of_the_api_page_are_those_of_the_code() {
    let tables = [
        ("commands", commands()),
        ("examples", examples()),
        ("components", components()),
        ("ops", ops("Teach")),
        ("mapping", ops("Mapping")),
        ("codes", codes()),
        ("remedies", remedies()),
    ];
    check("api.md", |page| {
        let mut page = page.to_owned();
        for (name, table) in &tables {
            let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
            let start = page.find(&open).unwrap() + open.len();
            let end = page.find(&close).unwrap();
            page.replace_range(start..end, table);
        }
        page
    });
}

#[test]
fn the_schema_is_that_of_the_code() {
    check("api.schema.json", |_| format!("{:#}\n", schema::document()));
}
