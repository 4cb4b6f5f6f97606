import Crypto
import Sealing
import Settings
import SignInWithApple
import Testing

@Suite("Values of settings")
struct SettingsValueTests {
    @Test("An empty value is not an empty list, which is written with brackets", arguments: ["", " ", "\t"])
    func emptyList(_ text: String) {
        for key in ["apple.client_ids", "apple.on_grant_gone", "deletion.kept_buckets"] {
            let variable = SettingsInputs.variable(of: key)
            let told = Settings.check(inputs(variables: [variable: text])).problems.first { $0.key == key }
            #expect(told?.message == "is empty: write [] for an empty list")
            let brackets = Settings.check(inputs(variables: [variable: "[]"]))
            #expect(!brackets.problems.map(\.key).contains(key))
        }
    }

    @Test("A list with one bracket is refused instead of naming a bucket with it", arguments: ["[a, b", "a, b]"])
    func openList(_ text: String) {
        let (settings, problems) = Settings.check(inputs("deletion.buckets = \(text)\nmail.resolvers = [::1]:53, ::1"))
        #expect(settings.deletion.buckets.isEmpty)
        #expect(settings.mail.resolvers == ["[::1]:53", "::1"])
        #expect(problems.map(\.message) == ["\"\(text)\" is not a list with commas, each a text"])
    }

    @Test(
        "A tab or a line end is no part of a list's element",
        arguments: ["a,\tb", "[a,\n  b\n]", " [\"a\",\t\"b\"]\t"]
    )
    func blanksInList(_ text: String) throws {
        let settings = try Settings(inputs(variables: ["ACCOUNTCTL_DELETION_BUCKETS": text]))
        #expect(settings.deletion.buckets == ["a", "b"])
    }

    @Test("A list with a line end in place of a comma is refused", arguments: ["a\nb", "[a,\n  b\r\n  c\n]"])
    func missingComma(_ text: String) {
        let variable = SettingsInputs.variable(of: "deletion.kept_buckets")
        let (settings, problems) = Settings.check(inputs(variables: [variable: text]))
        #expect(settings.deletion.keptBuckets.isEmpty)
        #expect(problems.map(\.message) == ["\"\(text)\" is not a list with commas, each a text"])
    }

    @Test("The byte order mark that Windows editors write is not part of the first key")
    func byteOrderMark() throws {
        let settings = try Settings(inputs("\u{FEFF}deletion.grace = 2h\r\nproduction = no\r\n"))
        #expect(settings.deletion.grace == .seconds(7200))
    }

    @Test("A line end is not part of a variable's value, which may come from a file")
    func lineEnds() throws {
        let variables = ["ACCOUNTCTL_DATABASE_URL": "postgresql:///app\n", "ACCOUNTCTL_DELETION_GRACE": "2h\r\n"]
        let settings = try Settings(inputs(variables: variables))
        #expect(settings.database.url == "postgresql:///app" && settings.deletion.grace == .seconds(7200))
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

    @Test("A key file whose name gives another key than the setting gives a warning and stops nothing")
    func keyFileNames() {
        let key = P256.Signing.PrivateKey().pemRepresentation
        func told(_ path: String) -> [String] {
            let file = """
                [apple.app.shop]
                team_id = TEAM000001
                key_id = KEY0000001
                private_key_file = \(path)
                client_ids = com.example.shop
                """
            let (settings, problems) = Settings.check(inputs(file, files: [path: key]))
            #expect(settings.apple.isConfigured)
            return problems.map { "\($0.stopsNothing) \($0.key): \($0.message)" }
        }
        #expect(told("/etc/apple.p8") == [])
        #expect(told("/etc/AuthKey_KEY0000001.p8") == [])
        let other = told("/etc/AuthKey_KEY0000002.p8")
        #expect(other.count == 1, "\(other)")
        #expect(other.first?.hasPrefix("true apple.app.shop.key_id: is KEY0000001, and ") == true, "\(other)")
        #expect(other.first?.contains("apple.app.shop.private_key_file is the key KEY0000002 by its name") == true)
    }

    @Test("Apps of other teams have their own sections or variables, and the missing parts of each are reported")
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
            ("apple.app.second.client_ids", "com.example.app is also in apple.app.first.client_ids"),
            ("apple.app.second.client_idz", "did you mean apple.app.second.client_ids?"),
        ] {
            #expect(problems.contains { $0.hasPrefix("\(key): ") && $0.contains(words) }, "\(key)\n\(problems)")
        }
        #expect(problems.count == 7, "\(problems)")
    }
}
