import AccountLifecycle
import Sealing
import Settings
import SignInWithApple
import Testing

@Suite("Settings are read and checked together")
struct SettingsTests {
    @Test("Flags win over variables, variables over the file, the environment's section over the rest of the file")
    func precedence() throws {
        let file = """
            [deletion]
            grace = 1h
            [environments.staging.deletion]
            grace = 2h
            """
        #expect(try Settings(inputs()).deletion.grace == .days(1))
        #expect(try Settings(inputs(file)).deletion.grace == .seconds(3600))
        #expect(try Settings(inputs(file, environment: "staging")).deletion.grace == .seconds(7200))
        let variables = ["ACCOUNTCTL_DELETION_GRACE": "3h", "ACCOUNTCTL_ENVIRONMENT": "staging"]
        #expect(try Settings(inputs(file, variables: variables)).deletion.grace == .seconds(10800))
        let flags = ["deletion.grace": (value: "4h", flag: "--grace")]
        #expect(try Settings(inputs(file, variables: variables, flags: flags)).deletion.grace == .seconds(14400))
    }

    @Test("Keys and forms of every environment are checked, with their lines; files that others name are not read")
    func elsewhere() {
        let file = """
            environment = staging
            [environments.live.database]
            urll = postgresql://db.example.com/app
            connections = many
            [environments.live.apple]
            private_key_file = /nowhere.p8
            [environments.staging.deletion]
            grace = tomorrow
            [environments.next]
            production = perhaps
            """
        let found = Settings.problemsElsewhere(inputs(file, variables: ["ACCOUNTCTL_DELETION_GRACE": "1h"]))
        #expect(
            found.map(\.description) == [
                "a.conf:3: environments.live.database.urll: there is no such setting; did you mean database.url?",
                "a.conf:4: environments.live.database.connections: \"many\" is not a whole number from 1 to 50",
                "a.conf:10: environments.next.production: \"perhaps\" is not yes or no",
            ]
        )
        #expect(Settings.problemsElsewhere(inputs(file, environment: "live")).map(\.key).count == 2)
    }

    @Test("Conflicts among another environment's settings are not reported: its variables and flags are unknown here")
    func relationsElsewhere() {
        let file = """
            environment = production
            [database]
            url = postgresql://postgres@db.aaaaaaaaaaaaaaaaaaaa.supabase.co/postgres
            [deletion]
            buckets = exports
            [listen]
            admin = 127.0.0.1:9000
            [environments.staging.storage]
            url = https://bbbbbbbbbbbbbbbbbbbb.supabase.co/storage/v1
            service_key_file = key
            [environments.staging.worker]
            lease = 10s
            [environments.staging.deletion]
            kept_buckets = exports
            [environments.staging.listen]
            public = 127.0.0.1:9000
            """
        #expect(Settings.problemsElsewhere(inputs(file)).map(\.description) == [])
        let told = Settings.check(inputs(file, environment: "staging", files: ["key": "k"])).problems.map(\.key)
        #expect(Set(["storage.url", "worker.lease", "deletion.kept_buckets", "listen.public"]).isSubset(of: told))
    }

    @Test("A file with the line ends of Windows says the same")
    func windows() throws {
        let file = "# Ours\nenvironment = production\n[deletion]\ngrace = 3h\nkept_buckets = invoices\n"
        let windows = try Settings(inputs(file.split(separator: "\n").joined(separator: "\r\n")))
        #expect(windows.deletion.grace == .seconds(10800))
        #expect(windows.deletion.keptBuckets == ["invoices"])
        #expect(windows.environmentName == "production" && windows.environment.isProduction)
    }

    @Test("A bucket cannot be both kept and emptied, in whatever sections the two settings are")
    func keptAndEmptied() {
        let base = "[deletion]\nbuckets = exports\n[environments.staging.deletion]\nkept_buckets = exports\n"
        for (file, variables) in [
            (base, ["ACCOUNTCTL_ENVIRONMENT": "staging"]), ("[deletion]\nkept_buckets = invoices, avatars\n", [:]),
        ] {
            let error = #expect(throws: SettingsError.self) { try Settings(inputs(file, variables: variables)) }
            #expect(error?.problems.map(\.key) == ["deletion.kept_buckets"])
        }
    }

    @Test(
        "A folder of avatars is the accounts' or the app's, however it is spelled; a folder below it may be the other's"
    )
    func foldersOfBoth() throws {
        let file = "[deletion]\navatar_folders = /, people\nkept_avatar_folders = people/old, "
        let settings = try Settings(inputs(file + "defaults"))
        #expect(settings.deletion.avatarFolders == ["/", "people"])
        #expect(settings.deletion.keptAvatarFolders == ["people/old", "defaults"])
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(file + "/people/")) }
        #expect(error?.problems.map(\.key) == ["deletion.kept_avatar_folders"])
    }

    @Test("All problems come in one error, each with key, source and expected form")
    func problems() throws {
        let file = """
            nonsense
            [deletion]
            grace = 24
            graec = 1h
            grace = 2h
            note = "open
            [bad section
            """
        let error = #expect(throws: SettingsError.self) {
            try Settings(
                inputs(
                    file,
                    variables: [
                        "ACCOUNTCTL_WORKER_CONCURRENCY": "0", "ACCOUNTCTL_WORKR_POLL_INTERVAL": "1s", "HOME": "/",
                    ]
                )
            )
        }
        let lines = try #require(error).problems.map(\.description)
        #expect(
            lines == [
                "a.conf:1: (unreadable line): expected key = value",
                "a.conf:3: deletion.grace: \"24\" is not a length of time such as 90s, 15m, 24h or 7d, from 0 to 30d",
                "a.conf:4: deletion.graec: there is no such setting; did you mean deletion.grace?",
                "a.conf:5: deletion.grace: already set at a.conf:3",
                "a.conf:6: deletion.note: the closing quote is missing, or something follows it",
                "a.conf:7: (unreadable line): expected [section]",
                "variable ACCOUNTCTL_WORKER_CONCURRENCY: worker.concurrency: \"0\" is not a whole number from 1 to 1024",
                "variable ACCOUNTCTL_WORKR_POLL_INTERVAL: ACCOUNTCTL_WORKR_POLL_INTERVAL: there is no such setting; "
                    + "did you mean ACCOUNTCTL_WORKER_POLL_INTERVAL?",
            ]
        )
    }

    @Test("Variables that Kubernetes and Docker set for a service of our name are recognised as such")
    func serviceLinks() throws {
        let links = [
            "ACCOUNTCTL_SERVICE_HOST": "10.0.0.7", "ACCOUNTCTL_SERVICE_PORT": "80",
            "ACCOUNTCTL_SERVICE_PORT_HTTP": "80", "ACCOUNTCTL_PORT": "tcp://10.0.0.7:80",
            "ACCOUNTCTL_PORT_80_TCP": "tcp://10.0.0.7:80", "ACCOUNTCTL_PORT_80_TCP_PROTO": "tcp",
            "ACCOUNTCTL_PORT_80_TCP_ADDR": "10.0.0.7", "ACCOUNTCTL_PUBLIC_SERVICE_HOST": "10.0.0.7",
        ]
        let (_, problems) = Settings.check(inputs(variables: links))
        #expect(problems.count == links.count)
        for problem in problems { #expect(problem.message.contains("enableServiceLinks"), "\(problem)") }
        let (_, others) = Settings.check(inputs(variables: ["ACCOUNTCTL_PORT": "80", "ACCOUNTCTL_SERVICE_KEY": "x"]))
        #expect(others.count == 2 && !others.contains { $0.message.contains("enableServiceLinks") }, "\(others)")
    }

    @Test("An incomplete Apple configuration is reported with every missing part")
    func appleHalf() throws {
        let error = #expect(throws: SettingsError.self) { try Settings(inputs("apple.team_id = ABCDE12345")) }
        #expect(error?.problems.map(\.key) == ["apple.client_ids", "apple.key_id", "apple.private_key_file"])
    }

    /// The case of a clone of production in which only the database setting was changed.
    @Test("An environment with a database of its own inherits no Storage, unless both are seen to be of one project")
    func inheritedStorage() throws {
        func problems(_ storage: String, _ database: String, own: String = "") -> [String] {
            let file = """
                [storage]
                url = \(storage)
                service_key_file = key
                [environments.staging.database]
                url = \(database)
                \(own)
                """
            let staging = inputs(file, environment: "staging", files: ["key": "sb_secret_x"])
            return Settings.check(staging).problems.map { "\($0.key): \($0.message)" }
        }
        let custom = "https://api.example.com/storage/v1"
        let hosted = "https://production.supabase.co/storage/v1"
        let pooler = "host=aws-0-eu.pooler.supabase.com user=postgres.production"
        for (storage, database) in [(custom, pooler), (custom, "host=10.0.0.7"), (hosted, "host=10.0.0.7")] {
            let told = problems(storage, database)
            #expect(told.count == 1 && told.first?.hasPrefix("storage.url: ") == true, "\(told)")
            #expect(told.first?.contains("[environments.staging.storage]") == true, "\(told)")
            #expect(problems(storage, database, own: "[environments.staging.storage]\nurl = \(custom)").isEmpty)
        }
        #expect(problems(hosted, pooler).isEmpty)
    }

    @Test("On Supabase's pooler, a user without the project's reference gives a warning")
    func poolerUser() {
        func told(_ connection: String) -> [SettingsProblem] {
            let url = "database.url = host=aws-0-eu.pooler.supabase.com \(connection)"
            return Settings.check(inputs(url)).problems.filter { $0.key == "database.url" }
        }
        let bare = told("user=postgres")
        #expect(bare.count == 1 && bare.first?.stopsNothing == true, "\(bare)")
        #expect(bare.first?.message.contains("postgres.<ref>") == true, "\(bare)")
        for named in ["user=postgres.abcdefghij", "user=postgres options=reference=abcdefghij"] {
            #expect(told(named).isEmpty)
        }
    }

    @Test(
        "The Storage of another project than the database's is refused, and both keys are named",
        arguments: [
            "host=aws-0-eu.pooler.supabase.com user=postgres.staging",
            "postgresql://postgres@db.staging.supabase.co:5432/postgres",
            "host=aws-0-eu.pooler.supabase.com,b user=worker.staging",
        ]
    )
    func projects(_ url: String) throws {
        let file = { (storage: String, database: String) in
            """
            [storage]
            url = https://production.supabase.co/storage/v1
            service_key_file = key
            [environments.staging.database]
            url = \(database)
            [environments.staging.storage]
            url = \(storage)
            """
        }
        let check = { (storage: String, database: String, variables: [String: String]) in
            let staging = inputs(
                file(storage, database),
                variables: variables,
                environment: "staging",
                files: ["key": "sb_secret_x"]
            )
            return Settings.check(staging).problems.map { "\($0.key): \($0.message)" }
        }
        for storage in [
            "https://production.supabase.co/storage/v1", "https://Production.storage.supabase.co/storage/v1",
        ] {
            let problems = check(storage, url, [:])
            #expect(problems.count == 1 && problems.first?.hasPrefix("storage.url: ") == true, "\(problems)")
            #expect(problems.first?.contains("database.url leads to the project staging") == true, "\(problems)")
        }
        #expect(check("https://staging.supabase.co/storage/v1", url, [:]).isEmpty)
        #expect(check("https://files.example.com", url, [:]).isEmpty)
        #expect(check("https://production.supabase.co/storage/v1", "host=10.0.0.7 user=postgres", [:]).isEmpty)
        let other = "https://production.supabase.co/storage/v1"
        let byVariable = check(other, "dbname=postgres", ["PGUSER": "postgres.staging"])
        #expect(byVariable.count == 1, "\(byVariable)")
    }

    @Test(
        "A hosted project's address without the path of Storage is refused: every call would be answered with 404",
        arguments: [
            ("https://p.supabase.co", false), ("https://p.supabase.co/storage", false),
            ("https://p.supabase.co/storage/v1/object", false), ("https://p.supabase.co/storage/v1/", true),
            ("https://p.storage.supabase.co/storage/v1", true), ("https://files.example.com", true),
            ("http://127.0.0.1:5000", true),
        ]
    )
    func storagePath(_ url: String, _ isRight: Bool) throws {
        let file = inputs("[storage]\nurl = \(url)\nservice_key_file = k", files: ["k": "sb_secret_x"])
        let problems = Settings.check(file).problems.map { "\($0.key): \($0.message)" }
        #expect(problems == (isRight ? [] : ["storage.url: on supabase.co the address of Storage ends in /storage/v1"]))
    }

    @Test("A lease that a call could outlast is refused: no such call would ever start")
    func leaseAndCalls() throws {
        let error = #expect(throws: SettingsError.self) {
            try Settings(inputs("[worker]\nlease = 29s\n[storage]\ntimeout = 20s\n[apple]\ntimeout = 10s"))
        }
        #expect(
            error?.problems.map { "\($0.key): \($0.message)" } == [
                "worker.lease: 29s is too short for storage.timeout: must be at least 30s",
                "worker.lease: 29s is too short for apple.timeout: must be at least 30s",
            ]
        )
        #expect(throws: Never.self) {
            try Settings(inputs("[worker]\nlease = 30s\n[storage]\ntimeout = 20s\n[apple]\ntimeout = 10s"))
        }
    }

    @Test("Even with the longest call to Apple that is accepted, a code's exchange fits into its job's time")
    func exchangeAndCalls() throws {
        let file = { (seconds: Int) in "[worker]\nlease = 1h\n[apple]\ntimeout = \(seconds)s" }
        let longest = try #require((1...60).last { (try? Settings(inputs(file($0)))) != nil })
        let calls = try Settings(inputs(file(longest))).apple.timeout * 2
        #expect(calls + AppleKeys.longestFetch * 2 < CodeExchange.longest)
        let problems = Settings.check(inputs(file(longest + 1))).problems
        #expect(problems.map(\.key) == ["apple.timeout"])
    }

    @Test("A remote database of an unnamed environment has no production brake: a warning says so and stops nothing")
    func unnamed() {
        func told(_ file: String, _ variables: [String: String] = [:]) -> [String] {
            Settings.check(inputs(file, variables: variables)).problems.filter(\.stopsNothing).map(\.key)
        }
        let elsewhere = "[database]\nurl = host=db.example.com user=postgres\n"
        #expect(told(elsewhere) == ["environment"])
        #expect(told("", ["PGHOST": "db.example.com"]) == ["environment"])
        // The host behind a `service` name of libpq is not known.
        #expect(told("[database]\nurl = service=live\n") == ["environment"])
        #expect(told("", ["PGSERVICE": "live"]) == ["environment"])
        #expect(told("[database]\nurl = service=live host=localhost\n").isEmpty)
        for said in ["environment = staging\n", "production = no\n"] { #expect(told(said + elsewhere).isEmpty) }
        for host in ["127.0.0.1", "/run/postgresql"] {
            #expect(told("database.url = host=\(host)", ["PGHOST": "db.example.com"]).isEmpty)
        }
    }
}
