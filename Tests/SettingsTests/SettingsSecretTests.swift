import Foundation
import Sealing
import Settings
import SignInWithApple
import Synchronization
import Testing

@Suite("Secrets in settings")
struct SettingsSecretTests {
    @Test("An empty variable is not a secret, and a line end is not part of one")
    func emptySecret() throws {
        let files = ["p": "good"]
        let named = ["ACCOUNTCTL_DATABASE_PASSWORD_FILE": "p"]
        let empty = named.merging(["ACCOUNTCTL_DATABASE_PASSWORD": "\n"]) { $1 }
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(variables: empty, files: files)) }
        #expect(error?.problems.map(\.key) == ["database.password"])
        let ended = named.merging(["ACCOUNTCTL_DATABASE_PASSWORD": "v\n"]) { $1 }
        #expect(try Settings(inputs(variables: ended, files: files)).database.password?.reveal() == "v")
    }

    @Test("A byte order mark is not part of a secret, in a file or in a variable made from one")
    func byteOrderMark() throws {
        let key = "sb_secret_0123456789"
        let read = try Settings(
            inputs(
                "storage.url = https://p.supabase.co/storage/v1\nstorage.service_key_file = k",
                variables: ["ACCOUNTCTL_DATABASE_PASSWORD": "\u{FEFF}v\r\n"],
                files: ["k": "\u{FEFF}\(key)\r\n"]
            )
        )
        #expect(read.storage.serviceKey?.reveal() == key)
        #expect(read.database.password?.reveal() == "v")
        let (_, problems) = Settings.check(inputs("database.password_file = k", files: ["k": "\u{FEFF}\n"]))
        #expect(problems.map(\.message) == ["the file that is named is empty"])
    }

    @Test("The database's password is the file's current one, or the last one read once the file is empty or gone")
    func passwordThatChanges() throws {
        let path = NSTemporaryDirectory() + "/password-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        func database(
            _ path: String,
            _ readFile: @escaping @Sendable (String) throws -> String
        ) throws -> DatabaseSettings {
            let variables = ["ACCOUNTCTL_DATABASE_PASSWORD_FILE": path]
            return try Settings(SettingsInputs(file: nil, variables: variables, readFile: readFile)).database
        }
        try write("old\n")
        let plain = try database(path) { try String(contentsOfFile: $0, encoding: .utf8) }
        #expect(plain.password?.reveal() == "old")
        try write("new\n")
        #expect(plain.password?.reveal() == "new")
        try write("\n")
        #expect(plain.password?.reveal() == "new")
        try FileManager.default.removeItem(atPath: path)
        #expect(plain.password?.reveal() == "new")
        // Reading a pipe again would block until somebody writes, or give an empty password.
        let reads = Mutex(0)
        let other = try database("/dev/null") { @Sendable _ in
            reads.withLock { $0 += 1 }
            return "old"
        }
        #expect(other.password?.reveal() == "old")
        #expect(reads.withLock(\.self) == 1)
    }

    @Test("The file from which a secret can be read again is known; a secret from elsewhere has no such file")
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

    @Test("An unreadable copy that only serves a reminder gives a warning and stops nothing")
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
        let file = storage + "service_key_file = "
        let relative = #expect(throws: SettingsError.self) { try Settings(inputs(file + "gone")) }
        let place = "the file that is named, whose path counts from the working directory: there is no such file"
        #expect(relative?.description.contains(place) == true)
        let empty = #expect(throws: SettingsError.self) { try Settings(inputs(file)) }
        #expect(empty?.description.contains("service_key_file: is empty: name a file") == true)
    }

    @Test(
        "A secret in the wrong place is not repeated in any problem or list",
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

    @Test(
        "A secret in place of its file's name is recognised, and the variable that takes it is named",
        arguments: [
            "sb_secret_0123456789", "eyJhbGciOi.e30.c2ln", "-----BEGIN PRIVATE KEY-----\nMIGT",
        ]
    )
    func secretForPath(_ text: String) {
        let (_, problems) = Settings.check(inputs(variables: ["ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": text]))
        let told = problems.first { $0.key == "storage.service_key_file" }?.message
        #expect(told?.hasPrefix("is the secret itself") == true, "\(problems)")
        #expect(told?.hasSuffix("ACCOUNTCTL_STORAGE_SERVICE_KEY") == true, "\(problems)")
    }

    @Test(
        "A missing file whose name begins like a secret is reported as missing",
        arguments: ["sb_secret.key", "sb_keys/storage"]
    )
    func missingFileCalledAsASecret(_ name: String) {
        let (_, problems) = Settings.check(inputs(variables: ["ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": name]))
        let told = problems.first { $0.key == "storage.service_key_file" }?.message
        #expect(told?.hasPrefix("cannot read the file that is named") == true, "\(problems)")
    }

    @Test("Standard input holds one secret only, and a secret's variable is reported as its source")
    func secretSources() throws {
        let two = "storage.service_key_file = -\ndatabase.password_file = -"
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(two, files: ["-": "x"])) }
        #expect(error?.description.contains("standard input is database.password_file already") == true)
        #expect(throws: SettingsError.self) { try Settings(inputs("keys.hash_file = -", files: ["-": "x"])) }
        let settings = try Settings(inputs(variables: ["ACCOUNTCTL_DATABASE_PASSWORD": "v"]))
        let source = settings.declarations.first { $0.key == "database.password_file" }?.source
        #expect(source == .variable("ACCOUNTCTL_DATABASE_PASSWORD"))
    }
}
