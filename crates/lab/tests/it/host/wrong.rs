//! What is wrong with a host, and what is said.

use super::results;

/// Scenarios that are wrong, and what is said.
const WRONG: &[(&str, &str)] = &[
    (
        "workload = 'host'",
        "host = no process (allowed: an application",
    ),
    (
        "workload = 'host:beside=1r-seq:request_max=0'",
        "host.request_max = 0 (allowed: bytes such as 512MiB",
    ),
    (
        "workload = 'host:beside=10x'",
        "host.beside = 10x (allowed: 0r0w for nobody",
    ),
    (
        "workload = 'host:launch=xtrem'",
        "start-up = xtrem; did you mean `xterm`?",
    ),
    (
        "workload = 'host:launch=no.csv'",
        "start-up = /data/no.csv (No such file",
    ),
    (
        "workload = 'host:beside=10r-seq:launch_s=3'",
        "host.launch_s = 3 (allowed: beside an application",
    ),
    (
        "workload = 'host:beside=1r-seq:counted_s=3'",
        "host.counted_s = 3 (allowed: where an application starts beside others",
    ),
    (
        "workload = 'host:launch=xterm:beside=1r-seq:counted_s=60.5'",
        "host.counted_s = 60.5 (allowed: at most 60, until the run ends",
    ),
    (
        "workload = 'host:launch=xterm:application_writes=false'",
        "host.application_writes = false (allowed: with an application that writes while it starts, which xterm does not",
    ),
    (
        "workload = 'host:launch=xterm:counted_s=3'",
        "host.counted_s = 3 (allowed: where an application starts beside others",
    ),
    (
        "workload = 'host:launch=xterm:file=1GiB'",
        "host.file = 1GiB (allowed: beside readers or writers",
    ),
    (
        "workload = 'host:launch=xterm:beside=1r-seq:sync_every_ms=1'",
        "host.sync_every_ms = 1 (allowed: beside writers",
    ),
    (
        "workload = 'host:beside=1w-seq:background_percent=20'",
        "host.background_percent = 20 (allowed: below dirty_percent",
    ),
    (
        "workload = 'host:beside=1r-seq:memory=1MiB'",
        "host.memory = 1MiB (allowed: at least 2097152 bytes",
    ),
    (
        "workload = 'host:beside=1r-seq:read_ahead=2MiB:memory=4MiB'",
        "host.memory = 4MiB (allowed: at least 8388608 bytes, four times read_ahead and request_max",
    ),
    (
        "workload = 'host:beside=1r-seq:volume=200TiB'",
        "host.volume = 200TiB (allowed: ",
    ),
    (
        "workload = 'host:launch=xterm:seconds=5'",
        "host.seconds = 5 (allowed: more than 7 s",
    ),
    (
        "warmup = '5%'\nworkload = 'host:launch=xterm'",
        "warmup = 5% (allowed: auto (0 here)",
    ),
    ("workload = 'host:beside=400r-seq'", "file of reader-"),
    (
        "workload = 'host:beside=1r-seq:file=0'",
        "host.file = 0 (allowed: bytes such as 512MiB",
    ),
    (
        "workload = 'host:beside=1r-seq:dirty_percent=30'",
        "host.dirty_percent = 30 (allowed: where a process writes or syncs",
    ),
    (
        "workload = 'host:launch=xterm:volume=4MiB'",
        "host.volume = 4194304 bytes (allowed: at least 33554432 bytes",
    ),
];

/// The same of processes of the user's own: what stands behind the name of one.
const WRONG_PROCESSES: &[(&str, &str)] = &[
    (
        "every_ms = 0\nsteps = ['sync']",
        "process `one`: every_ms = 0 (allowed: above 0",
    ),
    (
        "count = 2\nsteps = ['sync']\n[[workload.process]]\nname = 'one-1'\nsteps = ['sync']",
        "host.process: name = one-1 (allowed: a name that no other process has",
    ),
    (
        "times = 1\nsteps = ['sync']\n[[workload.process]]\nname = 'two'\nafter = ['one']\nsteps = ['sync']",
        "process `two`: after = one (allowed: with times, or beside another",
    ),
    (
        "start_s = 80\nsteps = ['sync']",
        "host.seconds = 67 (allowed: more than 80 s, when `one` begins",
    ),
    (
        "start_s = 67\nsteps = ['sync']",
        "host.seconds = 67 (allowed: more than 67 s, when `one` begins",
    ),
    (
        "count = 0\nsteps = ['sync']",
        "process `one`: count = 0 (allowed: a whole number from 1 to 10000)",
    ),
    (
        "count = 10001\nsteps = ['sync']",
        "process `one`: count = 10001 (allowed: a whole number from 1 to 10000)",
    ),
    (
        "file = 0\nsteps = [{ read = '4KiB' }]",
        "process `one`: file = 0 (allowed: bytes such as",
    ),
    (
        "steps = [{ write = 0 }]",
        "process `one`: step 1: write = 0 (allowed: bytes such as",
    ),
    (
        "steps = [{ read = '4KiB', write = '4KiB' }]",
        "process `one`: step 1 = {",
    ),
    (
        "steps = [{ think_ms = 1, think_mean_ms = 1 }]",
        "process `one`: step 1 = both (allowed: think_ms or think_mean_ms)",
    ),
    (
        "steps = ['sync']\n[[workload.process]]\nname = 'flusher'\nsteps = ['sync']",
        "host.process: name = flusher (allowed: a name that no other process has",
    ),
    (
        "file = '4KiB'\nsteps = ['sync']\n[[workload.process]]\nname = 'two'\nshares = 'one'\nsteps = [{ read = '8KiB' }]",
        "process `two`: steps = 8192 bytes at a time (allowed: at most the shared file, 4096 bytes)",
    ),
    (
        "steps = ['sync']\n[[workload.process]]\nname = 'two'\nshares = 'one'\nfile = '4KiB'\nsteps = ['sync']",
        "process `two`: file = \"4KiB\" (allowed: left out beside shares",
    ),
    (
        "shares = 'one'\nsteps = ['fsync']",
        "process `one`: shares = one (allowed: one with a file of its own)",
    ),
    (
        "shares = 'two'\nsteps = ['fsync']\n[[workload.process]]\nname = 'two'\nshares = 'one'\nsteps = ['fsync']",
        "process `one`: shares = two (allowed: one with a file of its own)",
    ),
    (
        "file = '1MiB'\nsteps = [{ think_ms = 5 }]",
        "process `one`: file = 1MiB (allowed: beside a step that reads or writes, \"fsync\", or an application that writes",
    ),
    (
        "file = 8192\nsteps = ['sync', { start = 'bash-recorded' }]",
        "process `one`: file = 8192 (allowed: beside a step that reads or writes",
    ),
    (
        "shares = 'two'\nsteps = ['sync']\n[[workload.process]]\nname = 'two'\nsteps = [{ read = '4KiB' }]",
        "process `one`: shares = two (allowed: beside a step that reads or writes",
    ),
    (
        "class = 'idle'\nsteps = [{ think_ms = 5 }, 'sync']",
        "process `one`: class = idle (allowed: beside a step that reads, writes or starts an application, or \"fsync\"",
    ),
    (
        "level = 7\nsteps = [{ think_mean_ms = 5 }]",
        "process `one`: level = 7 (allowed: beside a step that reads, writes or starts",
    ),
    (
        "steps = []",
        "process `one`: steps = nothing (allowed: at least one)",
    ),
    (
        "count = 3",
        "process `one`: steps = missing (allowed: { read",
    ),
    (
        "steps = 'sync'",
        "process `one`: steps = \"sync\" (allowed: { read",
    ),
    (
        "class = 5\nsteps = ['sync']",
        "process `one`: class = 5 (allowed: a name in quotes)",
    ),
    (
        "after = 'two'\nsteps = ['sync']",
        "process `one`: after = \"two\" (allowed: a list of names in quotes)",
    ),
    (
        "steps = ['fsnyc']",
        "process `one`: step 1 = \"fsnyc\" (allowed: { read",
    ),
    (
        "steps = [{ read = '5000' }]",
        "process `one`: step 1: read = \"5000\" (allowed: bytes such as",
    ),
    (
        "steps = [{ read = '4KiB', att = 'random' }]",
        "process `one`: step 1: att = \"random\"; did you mean `at`?",
    ),
    (
        "file = '4KiB'\nsteps = [{ read = '8KiB' }]",
        "process `one`: steps = 8192 bytes at a time (allowed: at most the file",
    ),
    (
        "cuont = 3\nsteps = ['sync']",
        "process `one`: cuont = 3; did you mean `count`?",
    ),
    (
        "class = 'high'\nsteps = ['sync']",
        "process `one`: class = high (allowed: real-time",
    ),
    (
        "level = 8\nsteps = ['sync']",
        "process `one`: level = 8 (allowed: 0, the most urgent, to 7)",
    ),
    (
        "rate_kb_s = 5\nsteps = ['sync']",
        "process `one`: rate_kb_s = 5 (allowed: beside a step",
    ),
    (
        "after = ['two']\nsteps = ['sync']",
        "process `one`: after = two (allowed: the name of another process",
    ),
    (
        "after = ['one']\ntimes = 1\nsteps = ['sync']",
        "after = one (allowed: no circle",
    ),
    (
        "after = ['two']\ntimes = 1\nsteps = ['sync']\n[[workload.process]]\nname = 'two'\ntimes = 1\nafter = ['one']\nsteps = ['sync']",
        "after = one, two (allowed: no circle",
    ),
    (
        "steps = ['sync']\n[[workload.process]]\nname = 'two'\nafter = ['one']\nsteps = ['sync']",
        "process `two`: after = one (allowed: one that ends",
    ),
    (
        "steps = ['sync']\n[[workload.process]]\nname = 'one'\nsteps = ['sync']",
        "host.process = one (allowed: a name of its own",
    ),
];

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    let process = |rest: &str| {
        format!("[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\n{rest}")
    };
    let whole = WRONG.iter().map(|(text, why)| ((*text).to_owned(), *why));
    let own = WRONG_PROCESSES
        .iter()
        .map(|(rest, why)| (process(rest), *why));
    for (text, why) in whole.chain(own) {
        let told = results(&format!("drive = 'desktop-7200-90mb'\n{text}"));
        let told = told.err().map(|error| error.to_string());
        let is = told.as_ref().is_some_and(|told| told.starts_with(why));
        assert!(is, "{text}: {told:?}, not {why}");
    }
}

#[test]
fn a_start_up_beyond_the_volume_and_wrong_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |rows: &str| {
        let path = folder.path().join("own.csv");
        std::fs::write(&path, rows).unwrap();
        let text = format!(
            "drive = 'desktop-7200-90mb'\nworkload = 'host:launch={}'",
            path.display()
        );
        results(&text).err().unwrap().to_string()
    };
    let head = "process,think_us,kind,sector,sectors\n";
    let beyond = told(&format!("{head}a,0,read,312499993,8\n"));
    assert!(beyond.contains("8 sectors from 312499993 on, request 1 (allowed: requests within the volume, 312500000 sectors)"), "{beyond}");
    let written = told(&format!(
        "{head}a,0,write,312500000,8\na,0,sync,312499993,8\n"
    ));
    assert!(
        written.contains("8 sectors from 312499993 on, request 2 (allowed"),
        "{written}"
    );
    for (rows, why) in [
        (String::new(), "= empty (allowed: at least one request)"),
        (
            head.to_owned(),
            "= no request (allowed: at least one request)",
        ),
        (
            "a,b\n".to_owned(),
            "line 1 = a,b (allowed: the names of the columns",
        ),
        (
            format!("{head}a,0,read,1\n"),
            "line 2 = a,0,read,1 (allowed: five columns",
        ),
        (
            format!("{head}a,0,raed,1,8\n"),
            "line 2: kind = raed (allowed: read, metadata",
        ),
        (
            format!("{head}a,0,read,1,0\n"),
            "line 2: sectors = 0 (allowed: at least 1)",
        ),
        (
            format!("{head}a,x,read,1,8\n"),
            "line 2: think_us = x (allowed: a whole number",
        ),
    ] {
        let said = told(&rows);
        assert!(said.contains(why), "{said}");
    }
}
