import Foundation
import TestSupport
import Testing

/// The keys and settings of the program, compared with what the database records of the keys.
@Suite("The doctor reports on keys and settings:", .timeLimit(.minutes(5)))
struct DoctorKeyTests {
    @Test("keys with which a worker would refuse to start")
    func otherKeys() async throws {
        try await DoctorStage.with { deployment in
            let sealing = try String(
                contentsOfFile: deployment.variables["ACCOUNTCTL_KEYS_SEALING_FILE"] ?? "",
                encoding: .utf8
            )
            let same = try deployment.file("same", sealing)
            let shared = try await deployment.find("keys.hash", "error", ["ACCOUNTCTL_KEYS_HASH_FILE": same])
            #expect(shared.contains("hold the same key"))
            let garbage = try deployment.file("garbage", "not a key")
            let unreadable = try await deployment.find("keys.hash", "error", ["ACCOUNTCTL_KEYS_HASH_FILE": garbage])
            #expect(unreadable.contains("keys.hash_file"))
            for (setting, code, name) in [
                ("ACCOUNTCTL_KEYS_SEALING_FILE", "keys.sealing", "sealing"),
                ("ACCOUNTCTL_KEYS_HASH_FILE", "keys.hash", "hash"),
            ] {
                let other = try deployment.file(
                    "other.\(name)",
                    try await AccountctlProcess.run("keys", "new", name).output
                )
                let said = try await deployment.find(code, "error", [setting: other])
                #expect(said.contains("under that name"), "\(said)")
                let worker = try await AccountctlProcess(
                    ["worker", "--until-idle"],
                    environment: deployment.variables.merging([setting: other]) { $1 }
                ).result()
                #expect(worker.status == 5, "\(worker.errors)")
            }
        }
    }

    @Test("a hash key with another name than the one in use, before and after its first use")
    func otherHashKey() async throws {
        try await DoctorStage.with { deployment in
            let newer = try deployment.file(
                "newer.hash",
                try await AccountctlProcess.run("keys", "new", "hash-2").output
            )
            let other = ["ACCOUNTCTL_KEYS_HASH_FILE": newer]
            let unknown = try await deployment.find("keys.hash", "error", other)
            #expect(unknown == #"the hash key "hash-2" was never used here, and "hash" was"#)
            // A worker that is started with this key by mistake does not clear the error.
            let worker = try await AccountctlProcess(
                ["worker", "--until-idle"],
                environment: deployment.variables.merging(other) { $1 }
            ).result()
            #expect(worker.status == 5 && worker.errors.contains("accountctl deletion pause --all"), "\(worker)")
            #expect(try await deployment.find("keys.hash", "error", other) == unknown)
            // An operator's act records the new key, as in a rotation.
            let paused = try await AccountctlProcess(
                ["deletion", "pause", "--all"],
                environment: deployment.variables.merging(other) { $1 }
            ).result()
            #expect(paused.status == 0, "\(paused.errors)")
            #expect(try await deployment.find("keys.hash", "notice", other).contains(#"is newer than "hash""#))
            let rotated = try await AccountctlProcess(
                ["worker", "--until-idle"],
                environment: deployment.variables.merging(other) { $1 }
            ).result()
            #expect(rotated.status == 0, "\(rotated.errors)")
            #expect(try await deployment.find("keys.hash", "warning").contains(#"is older than "hash-2""#))
        }
    }

    @Test("sealed values whose key is missing")
    func keys() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.requestDeletion("--grace", "0")
            try await deployment.database.psql(
                "update accountctl.deletion_requests set sealing_key_id = 'gone', sealed_identifiers = 'x'"
            )
            #expect(try await deployment.find("keys.sealing", "error").contains("gone"))
        }
    }

    @Test(
        "the mode that closes a secret's file to others, and not to the group by which a worker reads it",
        .enabled(if: geteuid() == 0, "root alone gives files away")
    )
    func closing() async throws {
        try await DoctorStage.with { deployment in
            let hash = deployment.variables["ACCOUNTCTL_KEYS_HASH_FILE"] ?? ""
            for (owner, mode) in [(0, "600"), (4711, "o=")] as [(uid_t, String)] {
                #expect(chown(hash, owner, 4712) == 0 && chmod(hash, 0o644) == 0)
                let (_, findings) = try await deployment.examine(everything: true)
                let finding = findings.first { $0.code == "keys.hash_file" }
                #expect(finding?.todo == "chmod \(mode) \(hash)", "\(findings)")
            }
        }
    }

    @Test("wrong settings, key files that others can read, and a web client secret that expires")
    func settings() async throws {
        try await DoctorStage.with { deployment in
            let readable = try deployment.file(
                "sealing",
                try String(
                    contentsOfFile: deployment.variables["ACCOUNTCTL_KEYS_SEALING_FILE"] ?? "",
                    encoding: .utf8
                )
            )
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: readable)
            let open = try await deployment.find(
                "keys.sealing_file",
                "warning",
                ["ACCOUNTCTL_KEYS_SEALING_FILE": readable],
                everything: true
            )
            #expect(open.contains(readable))
            // The hash key seals nothing, so its finding gives another reason.
            let hash = try deployment.file("hash", try await AccountctlProcess.run("keys", "new", "hash").output)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: hash)
            let (_, findings) = try await deployment.examine(["ACCOUNTCTL_KEYS_HASH_FILE": hash], everything: true)
            let readableHash = findings.first { $0.code == "keys.hash_file" }
            #expect(readableHash?.why?.contains("forge receipts") == true, "\(findings)")
            // The Storage service key is as sensitive as the other keys: it gives access to every file of the project.
            let storage = try deployment.file("storage.key", "sb_secret_" + String(repeating: "x", count: 31))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: storage)
            let openSecret = try await deployment.find(
                "storage.service_key_file",
                "warning",
                ["ACCOUNTCTL_STORAGE_URL": "http://127.0.0.1:1", "ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": storage],
                everything: true
            )
            #expect(openSecret.contains(storage))
            // The settings file names the database in which accounts are erased, and where secrets are sent.
            let file = try deployment.file("accountctl.conf", "[deletion]\ngrace = 1h\n")
            let path = ["ACCOUNTCTL_CONFIG": file]
            let (_, sound) = try await deployment.examine(path, everything: true)
            #expect(!sound.contains { $0.code == "settings.writable" }, "\(sound)")
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file)
            let writable = try await deployment.find("settings.writable", "warning", path, everything: true)
            #expect(writable.contains(file))
            let wrong = try await deployment.find(
                "settings",
                "error",
                ["ACCOUNTCTL_DELETION_GRACE": "soon"],
                everything: true
            )
            #expect(wrong.contains("deletion.grace"))
            // Each setting is valid by itself, but no worker starts with them.
            let alone = ["ACCOUNTCTL_LISTEN_PUBLIC": "127.0.0.1:0"]
            let parts = try await deployment.find("settings", "error", alone, everything: true)
            #expect(parts.contains("listen.public"))
            // A setting that keeps the doctor from the database is a finding, too, with and without all other checks.
            for everything in [true, false] {
                let loud = ["ACCOUNTCTL_LOG_LEVEL": "loud"]
                let unread = try await deployment.find("database.settings", "error", loud, everything: everything)
                #expect(unread.contains("log.level"))
            }
            for (days, severity, said) in [(10, "warning", "expires in 9 days"), (-1, "error", "has expired")] {
                let secret = try deployment.file("secret\(days)", Self.clientSecret(endsIn: days))
                let ends = try await deployment.find(
                    "apple.web_secret",
                    severity,
                    ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET_FILE": secret],
                    everything: true
                )
                #expect(ends.contains(said), "\(ends)")
            }
            let pasted = try deployment.file("p8", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
            let key = try await deployment.find(
                "apple.web_secret",
                "error",
                ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET_FILE": pasted],
                everything: true
            )
            #expect(key.contains(".p8"))
        }
    }

    /// A client secret as Supabase keeps it, with an invalid signature, of which only the length is checked.
    private static func clientSecret(endsIn days: Int) -> String {
        let now = Int(Date.now.timeIntervalSince1970)
        let header = #"{"alg":"ES256","kid":"ABCDE12345"}"#
        let claims =
            #"{"iss":"FGHIJ67890","iat":\#(now - 30 * 86_400),"exp":\#(now + days * 86_400),"#
            + #""aud":"https://appleid.apple.com","sub":"com.example.web"}"#
        return [header, claims, String(repeating: "s", count: 64)].map { part in
            Data(part.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        }.joined(separator: ".")
    }
}
