//! The report as a page.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::{inspect::write, sinew};

/// Records that pass for commands, and commands, in a file whose name is markup.
fn page() -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let mut packets: Vec<_> = (1..=300)
        .map(|number| {
            (number * 20_000, write::udp(write::ENDS, &write::record(&mut random, number, 44)))
        })
        .collect();
    for number in 0..90_u16 {
        let (layout, sequence) =
            (sinew_wire::teach::Layout::Documented, sinew_wire::teach::Sequence(number));
        let mut out = vec![0; 64];
        let command = 9 + (number % 3) as u8;
        let length =
            sinew_wire::teach::Datagram::emit(layout, sequence, command, &[0; 44], &mut out)
                .unwrap();
        packets.push((
            u64::from(number) * 50_000,
            write::udp(((10, 5000), (3, 5001)), &out[..length]),
        ));
    }
    packets.sort();
    let file = directory.path().join("<script>alert('&')<!--.pcap");
    fs::write(&file, write::pcap(101, &packets)).unwrap();
    let page = directory.path().join("page.html");
    let run =
        sinew(&["inspect", file.to_str().unwrap(), "--html", page.to_str().unwrap(), "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json()["packets"], 390);
    let html = fs::read_to_string(page).unwrap();
    (directory, html)
}

/// The names of the tags in order, `/` before those that end; panics where a page is not well formed.
fn tags(html: &str) -> Vec<String> {
    let (mut tags, mut open) = (Vec::new(), Vec::<String>::new());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        assert!(!text.contains('>') || open.last().is_some_and(|tag| tag == "style"), "{text}");
        let end = tag.find('>').unwrap();
        let inside = &tag[1..end];
        let name: String = inside.chars().take_while(|c| !c.is_whitespace()).collect();
        assert_eq!(inside.matches('"').count() % 2, 0, "{inside}");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else if !inside.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name.as_str()) {
            open.push(name.clone());
        }
        tags.push(name.trim_end_matches('/').to_owned());
        rest = &tag[end + 1..];
    }
    assert!(open.is_empty(), "{open:?} are open at the end");
    tags
}

#[test]
fn the_page_is_well_formed_and_asks_for_nothing() {
    let (_directory, html) = page();
    let tags = tags(&html);
    let known = [
        "!DOCTYPE", "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3",
        "p", "section", "ul", "li", "svg", "text", "line", "rect", "circle", "div", "table", "tr",
        "th", "td", "details", "summary",
    ];
    for tag in &tags {
        assert!(known.contains(&tag.trim_start_matches('/')), "{tag}");
    }
    for word in ["src=", "href=", "url(", "@import", "http:", "https:", "<script", " style=", " on"]
    {
        let markup = html.split('<').filter_map(|piece| piece.split('>').next());
        assert!(!markup.clone().any(|tag| tag.contains(word)), "{word}");
    }
    assert!(!html.contains("url(") && !html.contains("@import"));
    assert!(html.contains("&lt;script&gt;alert(&#39;&amp;&#39;)&lt;!--.pcap"));
    assert!(html.contains("default-src 'none'; style-src 'sha256-"));
    for chart in ["timeline", "sizes", "commands", "cycle"] {
        assert!(html.contains(&format!("<svg class=\"{chart}\"")), "{chart}");
    }
    for words in [
        "These are no commands",
        "These are commands",
        "prefers-color-scheme: dark",
        "Control Mode Set",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

/// The page as Chromium sees it, whose policy must let its style pass; none without Chromium.
fn in_chromium(page: &Path) -> Option<String> {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output();
    let Ok(output) = output else {
        println!("skipped: chromium is not installed (apt-get install chromium)");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    assert!(!stderr.contains("Content Security Policy"), "{stderr}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_page_opens_in_chromium_and_its_policy_knows_its_style() {
    let (directory, html) = page();
    let Some(seen) = in_chromium(&directory.path().join("page.html")) else { return };
    for tag in ["<svg", "<rect", "<circle", "<tr", "<section"] {
        assert_eq!(seen.matches(tag).count(), html.matches(tag).count(), "{tag}");
    }
    assert!(!seen.contains("<script"));
}
