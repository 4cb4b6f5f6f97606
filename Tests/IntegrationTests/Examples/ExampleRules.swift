/// Rules for examples that do not simply run as shown: a test fails if a rule names an example that does not exist.
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

    /// The command that is run for an example that has a placeholder or only names a command.
    static let stands: [String: String] = [
        "accountctl deletion show ID": "accountctl deletion show 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F",
        "accountctl deletion watch ID": "accountctl deletion watch 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F",
        "accountctl deletion receipt NUMBER": "accountctl deletion receipt 42",
        "accountctl deletion rehearse USER --production": "accountctl deletion rehearse test@example.com --production",
        "accountctl deletion rehearse": "accountctl deletion rehearse test@example.com",
        "accountctl user show": "accountctl user show anna@example.com",
    ]

    /// Parts of examples that depend on the reader's environment, and what replaces each on the stage.
    static let replaced: [(part: String, real: String)] = [
        ("/etc/accountctl/", "etc/"), ("/etc/bash_completion.d/", "etc/"), ("\"${fpath[1]}/_accountctl\"", "etc/zsh"),
        ("~/.config/fish/completions/", "etc/"), ("/usr/local/share/man/man1", "etc"),
        // Twelve accounts instead of a large number of them.
        ("--confirm=1200", "--confirm=12"),
        // The answer to the question that the command asks.
        ("deletion resume --all", "deletion resume --all --confirm=all"),
    ]

    /// Exit codes other than 0 that are expected on the stage, by the example, with the reason.
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

    /// Commands that run until they are stopped, with the text on standard error that shows that they have begun.
    ///
    /// Nil stands for the first line of output.
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

    /// Examples that list nothing if everything is as it should be.
    static let nothingIsGood = ["accountctl config check", "accountctl migrate verify"]

    /// The steps of a team transfer in their order: each needs the one before.
    static let transfer = ["status", "plan", "generate", "export", "import", "exchange", "apply"]
}
