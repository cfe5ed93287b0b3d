//! Whether the crates that are depended on may be: their licences, where they come from, and the
//! Rust they need.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use crate::{
    licence::satisfied,
    tools::{Failure, NO_STD_PROOF, cargo, host_triple, root, shown},
};

/// What a program that is MIT or Apache-2.0 can be made of: these ask for their notice to be kept,
/// and nothing of the program's other parts. MPL-2.0 also asks that changed files of its own be shown: none is.
/// All but the first four come with Zenoh, which only feature `fleet` has, and NCSA with the fuzzer.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "BSD-3-Clause",
    "MIT",
    "Unicode-3.0",
    "BSD-2-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MPL-2.0",
    "NCSA",
    "Zlib",
];

/// The manifests that have a Cargo.lock.
const MANIFESTS: [&str; 2] = ["Cargo.toml", NO_STD_PROOF];

/// What `cargo metadata` prints, as far as it is of interest.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// None for a path.
    source: Option<String>,
    manifest_path: PathBuf,
    license: Option<String>,
    rust_version: Option<String>,
}

/// Gives what could not be checked.
pub(crate) fn check() -> Result<Option<String>, Failure> {
    let mut left_out = None;
    for manifest in MANIFESTS {
        let (metadata, is_whole) = metadata(manifest)?;
        let findings = findings(&metadata.packages, root());
        if !findings.is_empty() {
            return Err(Failure::Task(format!("{manifest}:\n{}", findings.join("\n"))));
        }
        println!("{manifest}: {} packages are in order", metadata.packages.len());
        for (name, versions) in duplicates(&metadata.packages) {
            println!("{manifest}: more than one version of {name}: {versions}");
        }
        if !is_whole {
            left_out = Some(
                "crates for other platforms were not checked: they are not here, and could not be \
                 fetched; `cargo fetch --locked` fetches them"
                    .into(),
            );
        }
    }
    Ok(left_out)
}

/// Of all platforms where possible (the second value), which may need the network once: crates of
/// other platforms are not needed to build. Otherwise of this platform.
fn metadata(manifest: &str) -> Result<(Metadata, bool), Failure> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--all-features"];
    let arguments = [&arguments[..], &["--manifest-path", manifest]].concat();
    let mut whole = cargo(arguments.iter().copied());
    // Without a network it must give up soon.
    whole.env("CARGO_NET_RETRY", "0").env("CARGO_HTTP_TIMEOUT", "10");
    let mut here = cargo(arguments);
    here.arg("--offline");
    if let Some(host) = host_triple() {
        here.args(["--filter-platform", &host]);
    }
    match read(whole) {
        Ok(metadata) => Ok((metadata, true)),
        Err(_) => Ok((read(here)?, false)),
    }
}

fn read(mut command: Command) -> Result<Metadata, Failure> {
    let line = shown(&command);
    let failed = |error: &dyn Display| Failure::Task(format!("{line}: {error}"));
    let output = command.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// A line for each thing that is wrong, with what to do about it.
fn findings(packages: &[Package], root: &Path) -> Vec<String> {
    let ours = packages.iter().filter(|package| package.source.is_none());
    let promised = ours.filter_map(|package| rust(package.rust_version.as_ref()?)).min();
    let registry = registry(packages);
    let mut findings = Vec::new();
    for package in packages {
        let faults = [
            licence_fault(package),
            source_fault(package, registry, root),
            promised.and_then(|promised| rust_fault(package, promised)),
        ];
        let Package { name, version, .. } = package;
        findings.extend(faults.iter().flatten().map(|fault| format!("{name} {version}: {fault}")));
    }
    findings
}

fn licence_fault(package: &Package) -> Option<String> {
    let advice = "use another crate";
    let Some(licence) = &package.license else {
        return Some(format!("it states no licence; {advice}"));
    };
    match satisfied(licence, LICENCES) {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "its licence, `{licence}`, cannot be had with {}; {advice}, or allow the licence in \
             xtask/src/dependencies.rs if its terms can be kept",
            LICENCES.join(", ")
        )),
        Err(error) => {
            Some(format!("its licence, `{licence}`, is not understood: {error}; {advice}"))
        }
    }
}

fn source_fault(package: &Package, registry: Option<&str>, root: &Path) -> Option<String> {
    let advice = "use a released crate of the one registry, or move it into this repository";
    match &package.source {
        None if package.manifest_path.starts_with(root) => None,
        None => Some(format!("it is outside, at {}; {advice}", package.manifest_path.display())),
        Some(source) if registry == Some(source) => None,
        Some(source) => Some(format!("it comes from {source}; {advice}")),
    }
}

fn rust_fault(package: &Package, promised: (u32, u32)) -> Option<String> {
    let needed = package.rust_version.as_ref()?;
    let is_fine = rust(needed).is_some_and(|needed| needed <= promised);
    let (major, minor) = promised;
    (!is_fine).then(|| {
        format!("it needs Rust {needed}, and we promise {major}.{minor}; use an older version")
    })
}

/// The registry that most crates come from: cargo knows its address, and there is to be one.
fn registry(packages: &[Package]) -> Option<&str> {
    let mut counts = BTreeMap::<&str, usize>::new();
    let sources = packages.iter().filter_map(|package| package.source.as_deref());
    for source in sources.filter(|source| source.starts_with("registry+")) {
        *counts.entry(source).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(source, _)| source)
}

/// `1.89` or `1.89.0`.
fn rust(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// Names with their versions: cargo takes one version wherever one will do.
fn duplicates(packages: &[Package]) -> Vec<(&str, String)> {
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    several.map(|(name, versions)| (name, Vec::from_iter(versions).join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{Metadata, duplicates, findings};

    const REGISTRY: &str = "registry+https://registry.example/index";

    /// Two good packages, one of them ours, and one with these members changed.
    fn with(changes: Value) -> Metadata {
        let ours = json!({
            "name": "ours", "version": "0.1.0", "source": null, "license": "MIT OR Apache-2.0",
            "manifest_path": "/here/ours/Cargo.toml", "rust_version": "1.89",
        });
        let good = json!({
            "name": "good", "version": "1.2.3", "source": REGISTRY, "license": "MIT/Apache-2.0",
            "manifest_path": "/elsewhere/good/Cargo.toml", "rust_version": null,
        });
        let mut odd = good.clone();
        for (member, value) in changes.as_object().expect("is an object") {
            odd[member] = value.clone();
        }
        serde_json::from_value(json!({ "packages": [ours, good, odd] })).expect("is metadata")
    }

    #[test]
    fn each_fault_is_named_with_its_crate_and_what_to_do() {
        for (changes, wanted) in [
            (
                json!({ "license": "GPL-3.0-only" }),
                "odd 1.2.3: its licence, `GPL-3.0-only`, cannot",
            ),
            (json!({ "license": "MIT AND" }), "is not understood: wanted a name, got its end"),
            (json!({ "license": null }), "states no licence; use another crate"),
            (json!({ "source": "git+https://git.example/odd#0123" }), "it comes from git+https"),
            (json!({ "source": "registry+https://another.example/index" }), "another.example"),
            (json!({ "source": "sparse+https://registry.example/index" }), "from sparse+"),
            (json!({ "source": null }), "it is outside, at /elsewhere/good/Cargo.toml"),
            (json!({ "rust_version": "1.90" }), "needs Rust 1.90, and we promise 1.89"),
            (json!({ "rust_version": "2.0.1" }), "needs Rust 2.0.1"),
        ] {
            let mut changes = changes;
            changes["name"] = "odd".into();
            let findings = findings(&with(changes).packages, Path::new("/here"));
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert!(findings[0].contains(wanted), "{findings:?}");
        }
    }

    #[test]
    fn what_is_in_order_and_what_is_there_twice_is_no_fault() {
        for changes in [
            json!({ "rust_version": "1.89.0" }),
            json!({ "rust_version": "1.5" }),
            json!({ "source": null, "manifest_path": "/here/odd/Cargo.toml" }),
            json!({ "version": "2.0.0" }),
        ] {
            assert_eq!(findings(&with(changes).packages, Path::new("/here")), [""; 0]);
        }
        let twice = with(json!({ "version": "2.0.0" }));
        assert_eq!(duplicates(&twice.packages), [("good", "1.2.3, 2.0.0".into())]);
        assert!(duplicates(&with(json!({})).packages).is_empty());
    }
}
