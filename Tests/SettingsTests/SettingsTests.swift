import AccountLifecycle
import Crypto
import Sealing
import Settings
import SignInWithApple
import Testing

@Suite("Settings are read and checked together")
struct SettingsTests {
    private func inputs(
        _ file: String = "",
        variables: [String: String] = [:],
        flags: [String: (value: String, flag: String)] = [:],
        environment: String? = nil,
        files: [String: String] = [:]
    ) -> SettingsInputs {
        SettingsInputs(
            file: (file, "a.conf"),
            variables: variables,
            flags: flags,
            environment: environment,
            readFile: { path in
                guard let text = files[path] else {
                    throw SecretFile.Failure(path: path, reason: "there is no such file")
                }
                return text
            }
        )
    }

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

    @Test("Keys and forms of every environment are checked, each with its line; what files of others hold is not")
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

    @Test("How settings of another environment go together is not told: its variables and flags are not known here")
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

    @Test("What is kept is not emptied, wherever the one and the other stand")
    func keptAndEmptied() {
        let base = "[deletion]\nbuckets = exports\n[environments.staging.deletion]\nkept_buckets = exports\n"
        for (file, variables) in [
            (base, ["ACCOUNTCTL_ENVIRONMENT": "staging"]), ("[deletion]\nkept_buckets = invoices, avatars\n", [:]),
        ] {
            let error = #expect(throws: SettingsError.self) { try Settings(inputs(file, variables: variables)) }
            #expect(error?.problems.map(\.key) == ["deletion.kept_buckets"])
        }
    }

    @Test("An empty variable is no secret, and a line end belongs to none")
    func emptySecret() throws {
        let files = ["p": "good"]
        let named = ["ACCOUNTCTL_DATABASE_PASSWORD_FILE": "p"]
        let empty = named.merging(["ACCOUNTCTL_DATABASE_PASSWORD": "\n"]) { $1 }
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(variables: empty, files: files)) }
        #expect(error?.problems.map(\.key) == ["database.password"])
        let ended = named.merging(["ACCOUNTCTL_DATABASE_PASSWORD": "v\n"]) { $1 }
        #expect(try Settings(inputs(variables: ended, files: files)).database.password?.reveal() == "v")
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

    @Test("Variables by which Kubernetes and Docker tell of a service of our name are told as such")
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

    @Test("Where a secret can be read again from is known, and that it cannot")
    func secretsToReadAgain() throws {
        let files = ["w": "jwt", "-": "jwt"]
        func path(_ file: String, _ variables: [String: String] = [:]) throws -> String? {
            let settings = try Settings(inputs(file, variables: variables, files: files))
            #expect(settings.apple.webClientSecret?.reveal() == "jwt")
            return settings.apple.webClientSecretFile
        }
        #expect(try path("apple.web_client_secret_file = w") == "w")
        #expect(try path("apple.web_client_secret_file = -") == nil)
        #expect(try path("apple.web_client_secret_file = w", ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET": "jwt"]) == nil)
    }

    @Test("A copy that only serves a reminder and cannot be read is told, and stops nothing")
    func unreadableCopy() throws {
        for (file, said) in [("/gone", "cannot read the file /gone"), ("/empty", "the file /empty is empty")] {
            let inputs = inputs("apple.web_client_secret_file = \(file)", files: ["/empty": "\n"])
            let (_, problems) = Settings.check(inputs)
            #expect(problems.map(\.stopsNothing) == [true])
            #expect(problems.first?.message.hasPrefix(said) == true, "\(problems)")
            #expect(try Settings(inputs).apple.webClientSecretFile == file)
        }
        #expect(throws: SettingsError.self) {
            try Settings(inputs("apple.web_client_secret_file = -\napple.private_key_file = -", files: ["-": "jwt"]))
        }
    }

    @Test("A secret comes from a file or a variable, never from the settings file, and is never shown")
    func secrets() throws {
        let storage = "[storage]\nurl = https://p.supabase.co/storage/v1\n"
        let settings = try Settings(inputs(storage + "service_key_file = k", files: ["k": "s3cret\n"]))
        #expect(settings.storage.serviceKey?.reveal() == "s3cret")
        #expect(!"\(settings.declarations)".contains("s3cret"))
        #expect(
            try Settings(inputs(storage, variables: ["ACCOUNTCTL_STORAGE_SERVICE_KEY": "v"])).storage.serviceKey?
                .reveal() == "v"
        )
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(storage + "service_key = s3cret")) }
        #expect(error?.description.contains("storage.service_key_file") == true)
        #expect(error?.description.contains("s3cret") == false)
        let missing = #expect(throws: SettingsError.self) { try Settings(inputs(storage + "service_key_file = /gone")) }
        #expect(missing?.description.contains("cannot read the file /gone: there is no such file") == true)
    }

    @Test(
        "A secret in the wrong place is repeated in no problem and no list",
        arguments: [
            "[apple]\nprivate_key = -----BEGIN PRIVATE KEY-----\nSECRETabcdef/ghi+jkl\nSECRETqgcuWwY9xA==\n-----END PRIVATE KEY-----",
            "storage.service_key_file = sb_SECRET_0123456789", "storage.service_key_file = eyJhbGciOi.SECRET.c2ln",
            "storage.url = https://user:SECRET@host", "supabase.project = SECRET", "apple.team_id = SECRET",
            "keys.hash_file = hash:SECRETBaJkX9Jm1oTP0aOFhfuhXGFFzVvhlOqvXyqaQ=", "[SECRET", "SECRET line = x",
            "worker.lease = SECRET-that-is-much-too-long-to-be-a-length-of-time-as-one-would-write-it",
        ]
    )
    func strayedSecrets(_ file: String) {
        let (settings, problems) = Settings.check(inputs(file))
        #expect(!problems.isEmpty)
        #expect(!"\(problems)".contains("SECRET"), "\(problems)")
        #expect(!"\(settings.declarations)".contains("SECRET"))
    }

    @Test("Standard input holds one secret only, and a secret's variable is told as its source")
    func secretSources() throws {
        let two = "storage.service_key_file = -\ndatabase.password_file = -"
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(two, files: ["-": "x"])) }
        #expect(error?.description.contains("standard input is database.password_file already") == true)
        #expect(throws: SettingsError.self) { try Settings(inputs("keys.hash_file = -", files: ["-": "x"])) }
        let settings = try Settings(inputs(variables: ["ACCOUNTCTL_DATABASE_PASSWORD": "v"]))
        let source = settings.declarations.first { $0.key == "database.password_file" }?.source
        #expect(source == .variable("ACCOUNTCTL_DATABASE_PASSWORD"))
    }

    @Test("Half of what Apple needs is told, with every missing part")
    func appleHalf() throws {
        let error = #expect(throws: SettingsError.self) { try Settings(inputs("apple.team_id = ABCDE12345")) }
        #expect(error?.problems.map(\.key) == ["apple.client_ids", "apple.key_id", "apple.private_key_file"])
    }

    /// A clone of production, for which only the database was changed.
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
        let byVariable = check("https://production.supabase.co", "dbname=postgres", ["PGUSER": "postgres.staging"])
        #expect(byVariable.count == 1, "\(byVariable)")
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

    @Test("With the longest call to Apple that is accepted a code's exchange has room in its job's time")
    func exchangeAndCalls() throws {
        let file = { (seconds: Int) in "[worker]\nlease = 1h\n[apple]\ntimeout = \(seconds)s" }
        let longest = try #require((1...60).last { (try? Settings(inputs(file($0)))) != nil })
        let calls = try Settings(inputs(file(longest))).apple.timeout * 2
        #expect(calls + AppleKeys.longestFetch * 2 < CodeExchange.longest)
        let problems = Settings.check(inputs(file(longest + 1))).problems
        #expect(problems.map(\.key) == ["apple.timeout"])
    }

    @Test("What stands outside of sections is the file's own environment, or production")
    func environmentOfTheFile() throws {
        let sections = "[environments.staging.deletion]\ngrace = 2h\n"
        let named = "environment = live\n[deletion]\ngrace = 3h\n" + sections
        #expect(try Settings(inputs(named)).deletion.grace == .seconds(10800))
        #expect(try Settings(inputs(named, environment: "live")).deletion.grace == .seconds(10800))
        #expect(try Settings(inputs(named, environment: "staging")).deletion.grace == .seconds(7200))
        #expect(throws: SettingsError.self) { try Settings(inputs(named, environment: "production")) }
        let production = try Settings(inputs(sections, variables: ["ACCOUNTCTL_ENVIRONMENT": "production"]))
        #expect(production.environment.isProduction)
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(sections, environment: "prodution")) }
        #expect(error?.description.contains("did you mean production?") == true)
    }

    @Test("A file that says what it is stands for no other environment, sections or none")
    func otherEnvironment() throws {
        let file = "environment = production\n[deletion]\ngrace = 2h\n"
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(file, environment: "staging")) }
        let problem = try #require(error?.problems.first)
        #expect(problem.message.contains("[environments.staging]") && problem.message.contains("is production"))
        #expect(problem.leavesEnvironmentInDoubt)
        // Where nobody said what it is, a name may be chosen.
        #expect(try Settings(inputs("deletion.grace = 2h", environment: "staging")).environmentName == "staging")
    }

    @Test("A password in the connection string of the file is told, and stops nothing")
    func passwordInTheFile() throws {
        for url in ["postgresql://u:SECRET@h/db", "host=h password=SECRET"] {
            let (settings, problems) = Settings.check(inputs("production = no\ndatabase.url = \(url)"))
            #expect(problems.map(\.key) == ["database.url"] && problems.map(\.stopsNothing) == [true])
            #expect(problems.first?.message.contains("database.password_file") == true)
            #expect(!"\(problems)".contains("SECRET"))
            #expect(settings.database.url == url)
            // Variables may hold secrets.
            let variables = ["ACCOUNTCTL_DATABASE_URL": url, "ACCOUNTCTL_PRODUCTION": "no"]
            #expect(Settings.check(inputs(variables: variables)).problems.isEmpty)
        }
        #expect(Settings.check(inputs("production = no\ndatabase.url = postgresql://u@h/db")).problems.isEmpty)
    }

    @Test func unknownEnvironment() {
        let error = #expect(throws: SettingsError.self) {
            try Settings(inputs("[environments.staging]\ndeletion.grace = 1h", environment: "stagin"))
        }
        #expect(error?.description.contains("did you mean staging?") == true)
        let problems = Settings.check(
            inputs("[environments.staging]\nproduction = no", variables: ["ACCOUNTCTL_ENVIRONMENT": "stagin"])
        ).problems
        #expect(problems.map(\.source) == [.variable("ACCOUNTCTL_ENVIRONMENT")])
        // What chooses the environment is no setting, and mistyped all the same.
        for (file, variables, meant) in [
            ("enviroment = staging", [:], "environment"),
            ("", ["ACCOUNTCTL_ENVIROMENT": "staging"], "ACCOUNTCTL_ENVIRONMENT"),
            ("", ["ACCOUNTCTL_CONFG": "a.conf"], "ACCOUNTCTL_CONFIG"),
        ] as [(String, [String: String], String)] {
            let messages = Settings.check(inputs(file, variables: variables)).problems.map(\.message)
            #expect(messages == ["there is no such setting; did you mean \(meant)?"])
        }
    }

    @Test(
        "Whether this is production stays in doubt while anything is wrong that may have been meant to say so",
        arguments: [
            ("[environments.live]\nproduction = y", [:], true), ("[environments.live]\nprodution = yes", [:], true),
            ("[environments.live]\nproduction yes", [:], true), ("", ["ACCOUNTCTL_PRODUKTION": "yes"], true),
            ("", ["ACCOUNTCTL_ENVIROMENT": "production"], true), ("", ["ACCOUNTCTL_STORAGE_ULR": "x"], false),
            ("[environments.live.storage]\nulr = x", [:], false),
        ] as [(String, [String: String], Bool)]
    )
    func doubtfulEnvironment(_ file: String, _ variables: [String: String], _ inDoubt: Bool) {
        let problems = Settings.check(inputs(file, variables: variables, environment: "live")).problems
        #expect(!problems.isEmpty)
        #expect(problems.contains(where: \.leavesEnvironmentInDoubt) == inDoubt, "\(problems)")
    }

    @Test("Production is known by its name or by its setting")
    func production() throws {
        #expect(try !Settings(inputs()).environment.isProduction)
        #expect(try Settings(inputs(environment: "production")).environment.isProduction)
        #expect(try Settings(inputs("production = yes")).environment.isProduction)
        #expect(try !Settings(inputs("production = no", environment: "production")).environment.isProduction)
        #expect(try Settings(inputs(environment: "prodution")).environment.isProduction)
        #expect(try !Settings(inputs("environment = staging", environment: "staging")).environment.isProduction)
        #expect(
            try !Settings(inputs("[environments.staging]\nproduction = no", environment: "staging")).environment
                .isProduction
        )
        #expect(
            try !Settings(inputs("[environments.staging.log]\nlevel = info", environment: "staging")).environment
                .isProduction
        )
    }

    @Test("That a database elsewhere has no brake of production, as nobody says what it is, is told and stops nothing")
    func unnamed() {
        func told(_ file: String, _ variables: [String: String] = [:]) -> [String] {
            Settings.check(inputs(file, variables: variables)).problems.filter(\.stopsNothing).map(\.key)
        }
        let elsewhere = "[database]\nurl = host=db.example.com user=postgres\n"
        #expect(told(elsewhere) == ["environment"])
        #expect(told("", ["PGHOST": "db.example.com"]) == ["environment"])
        for said in ["environment = staging\n", "production = no\n"] { #expect(told(said + elsewhere).isEmpty) }
        for host in ["127.0.0.1", "/run/postgresql"] {
            #expect(told("database.url = host=\(host)", ["PGHOST": "db.example.com"]).isEmpty)
        }
    }

    @Test("Comments, quotes and blanks in values")
    func values() throws {
        let file = """
            # comment
            [database]
            url = postgresql://u@h/db?x=#1   # not the fragment
            [storage]   # trailing
            url = "https://p.supabase.co/storage/v1/"
            service_key_file = "a # b"
            [deletion]
            buckets = [photos, "voice notes"]
            """
        let settings = try Settings(inputs(file, files: ["a # b": "k"]))
        #expect(settings.database.url == "postgresql://u@h/db?x=#1")
        #expect(settings.storage.url == "https://p.supabase.co/storage/v1")
        #expect(settings.deletion.buckets == ["photos", "voice notes"])
    }

    @Test(
        "Lengths of time",
        arguments: [
            ("0", Duration.zero), ("250ms", .milliseconds(250)), ("90s", .seconds(90)), ("1h30m", .seconds(5400)),
            ("7d", .days(7)), ("1w", .days(7)), ("24", nil), ("", nil), ("h", nil), ("1h1h", nil), ("5m1h", nil),
            ("-1h", nil), ("1.5h", nil), ("99999999999999999999d", nil), ("9999999999999999w", nil),
        ] as [(String, Duration?)]
    )
    func durations(_ text: String, _ expected: Duration?) {
        #expect(DurationText.read(text) == expected)
        if let expected { #expect(DurationText.read(DurationText.write(expected)) == expected) }
    }

    @Test func addresses() {
        #expect(ListenAddress("127.0.0.1:80") == ListenAddress(host: "127.0.0.1", port: 80))
        #expect(ListenAddress("[::1]:80") == ListenAddress(host: "::1", port: 80))
        #expect(ListenAddress(":0") == ListenAddress(host: "", port: 0))
        #expect(ListenAddress(":8080")?.description == ":8080")
        #expect(ListenAddress("::1:80") == nil)
        #expect(ListenAddress("host") == nil)
        #expect(ListenAddress("host:70000") == nil)
        #expect(Rate("50/h") == Rate(count: 50, per: .seconds(3600)))
        #expect(Rate("50/h")?.description == "50/h")
        #expect(Rate("50") == nil)
        for odd in ["50/2h", "10/5m", "10/0s", "10/", "10/ms", "9000000000000000000/s", "-1/s"] {
            #expect(Rate(odd) == nil)
        }
    }

    @Test("A service is called over TLS, except on this machine")
    func serviceAddresses() throws {
        #expect(throws: SettingsError.self) { try Settings(inputs("apple.host = http://apple.example.com")) }
        #expect(throws: SettingsError.self) { try Settings(inputs("apple.host = http://localhost.example.com")) }
        #expect(try Settings(inputs("apple.host = http://127.0.0.1:8080/")).apple.host == "http://127.0.0.1:8080")
    }

    @Test("Apps of other teams stand in sections or variables of their own, and each is told what it lacks")
    func appleApps() throws {
        let key = P256.Signing.PrivateKey().pemRepresentation
        let files = ["a.p8": key, "b.p8": key, "jwt": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"]
        let file = """
            [apple]
            team_id = TEAM000001
            key_id = KEY0000001
            private_key_file = a.p8
            client_ids = com.example.app, com.example.web
            [apple.app.shop]
            team_id = TEAM000002
            key_id = KEY0000002
            private_key_file = b.p8
            client_ids = com.example.shop
            """
        let settings = try Settings(
            inputs(
                file,
                variables: [
                    "ACCOUNTCTL_APPLE_APP_SHOP_KEY_ID": "KEY0000003", "ACCOUNTCTL_APPLE_APP_GAME_TEAM_ID": "TEAM000003",
                    "ACCOUNTCTL_APPLE_APP_GAME_KEY_ID": "KEY0000004", "ACCOUNTCTL_APPLE_APP_GAME_PRIVATE_KEY": key,
                    "ACCOUNTCTL_APPLE_APP_GAME_CLIENT_IDS": "com.example.game",
                ],
                files: files
            )
        )
        #expect(settings.apple.apps.map(\.section) == ["apple", "apple.app.game", "apple.app.shop"])
        #expect(
            settings.apple.identities.map { "\($0.clientID) \($0.teamID) \($0.keyID)" } == [
                "com.example.app TEAM000001 KEY0000001", "com.example.web TEAM000001 KEY0000001",
                "com.example.game TEAM000003 KEY0000004", "com.example.shop TEAM000002 KEY0000003",
            ]
        )
        #expect(settings.apple.section(of: "com.example.shop") == "apple.app.shop")
        #expect(!"\(settings.declarations)".contains(key))

        let problems = Settings.check(
            inputs(
                """
                [apple.app.shop]
                team_id = TEAM000002
                key_id = KEY0000002
                private_key_file = jwt
                client_ids = com.example.shop
                [apple.app.game]
                team_id = TEAM000001
                [apple.app.first]
                team_id = TEAM000001
                key_id = KEY0000001
                private_key_file = a.p8
                client_ids = com.example.app, TEAM000001.com.example.app
                [apple.app.second]
                team_id = TEAM000001
                key_id = KEY0000001
                private_key_file = a.p8
                client_ids = com.example.app
                client_idz = x
                """,
                files: files
            )
        ).problems.map { "\($0.key): \($0.message)" }
        for (key, words) in [
            ("apple.app.shop.private_key_file", "this is a client secret (a JWT)"),
            ("apple.app.game.key_id", "missing"), ("apple.app.game.private_key_file", "missing"),
            ("apple.app.game.client_ids", "missing"), ("apple.app.first.client_ids", "begins with the team id"),
            ("apple.app.second.client_ids", "com.example.app stands in apple.app.first.client_ids too"),
            ("apple.app.second.client_idz", "did you mean apple.app.second.client_ids?"),
        ] {
            #expect(problems.contains { $0.hasPrefix("\(key): ") && $0.contains(words) }, "\(key)\n\(problems)")
        }
        #expect(problems.count == 7, "\(problems)")
    }
}
