/// What is known of examples besides that they work: each list names examples that exist, or the test fails.
enum ExampleRules {
    /// Examples that are not run, by their start, with the reason.
    static let notRun: [(start: String, reason: String)] = [
        ("deploy/", "builds everything and starts servers: what a person does first, and CI does on every change"),
        ("swift build", "builds the program for minutes; CI does it"),
        ("install -", "brings the program, its folder and its files to where they belong on a machine"),
        ("docker ", "starts a machine"), ("(cd trial && supabase ", "starts a project in containers"),
        ("mkdir ", "makes the reader's folder"), ("cd ", "goes there"), ("PATH=", "names the program that was built"),
        ("umask ", "is for the reader's shell"), ("export ", "is for the reader's shell"),
        ("printf ", "writes a password"), ("cat > ", "takes a key that is pasted"),
        ("curl ", "signs up at the Auth server, which the stage has none of"),
        ("useradd", "makes a user on the machine"), ("chown", "gives files to that user"),
        (".build/release/Benchmarks", "measures for minutes; BenchmarkListTests runs the list"),
    ]

    /// What an example with a placeholder, or one that only names a command, stands for.
    static let stands: [String: String] = [
        "accountctl deletion show ID": "accountctl deletion show 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F",
        "accountctl deletion watch ID": "accountctl deletion watch 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F",
        "accountctl deletion receipt NUMBER": "accountctl deletion receipt 42",
        "accountctl deletion rehearse USER --production": "accountctl deletion rehearse test@example.com --production",
        "accountctl deletion rehearse": "accountctl deletion rehearse test@example.com",
        "accountctl user show": "accountctl user show anna@example.com",
    ]

    /// Parts of examples that name something of the reader's, and what the stage has there.
    static let replaced: [(part: String, real: String)] = [
        ("/etc/accountctl/", "etc/"), ("/etc/bash_completion.d/", "etc/"), ("\"${fpath[1]}/_accountctl\"", "etc/zsh"),
        ("~/.config/fish/completions/", "etc/"), ("/usr/local/share/man/man1", "etc"),
        // Twelve accounts instead of a large number of them.
        ("--confirm=1200", "--confirm=12"),
        // What is asked, answered.
        ("deletion resume --all", "deletion resume --all --confirm=all"),
    ]

    /// Exit codes other than 0 that are right on the stage, by the example, with the reason.
    static let endsWith: [String: (status: Int32, reason: String)] = [
        "accountctl migrate up --without-profiles": (6, "profiles are installed"),
        "accountctl apple vault forget-key 2025-01 --dry-run": (3, "no key is lost"),
        "accountctl apple vault forget-key 2025-01 --confirm 2025-01 --reason \"lost with the old host\"": (
            3, "no key is lost"
        ),
        "accountctl relay check example.com --envelope send.example.com --include _spf.esp.example --selector s1": (
            7, "advises to say what is registered with Apple"
        ),
        "accountctl relay check example.com --envelope send.example.com --selector s1=s1.esp.example --explain": (
            7, "advises to say who sends, and what is registered with Apple"
        ),
    ]

    /// Commands that go on until they are told to stop, with what they say when they have begun; nil for their first
    /// line of output.
    static let goesOn: [(start: String, begun: String?)] = [
        ("accountctl worker", "worker registered"),
        ("accountctl serve", "admin listener started"), ("accountctl jobs watch", nil),
        ("accountctl deletion watch", nil), ("accountctl user watch", nil),
    ]

    /// Examples that have no data to print, by their start: they say on standard error what they did or found.
    static let sentences = [
        "accountctl worker --until-idle", "accountctl migrate up", "accountctl migrate plan",
        "accountctl migrate verify",
        "accountctl config check", "accountctl doctor", "accountctl keys new",
        "accountctl jobs prune", "accountctl apple vault rotate", "accountctl apple vault forget-key",
        "accountctl apple client-secret push", "accountctl deletion export --output",
        "accountctl apple events replay", "accountctl apple transfer import", "accountctl manual --into",
    ]

    /// Examples that list nothing where everything is as it should be.
    static let nothingIsGood = ["accountctl config check", "accountctl migrate verify"]

    /// A team transfer is a way: each step needs the one before.
    static let transfer = ["status", "plan", "generate", "export", "import", "exchange", "apply"]
}
