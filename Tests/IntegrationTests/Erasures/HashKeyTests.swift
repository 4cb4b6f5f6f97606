import Foundation
import TestSupport
import Testing

@Suite("Another hash key", .timeLimit(.minutes(5)))
struct HashKeyTests {
    @Test("with another name is reported wherever an account would otherwise be said never to have existed")
    func otherName() async throws {
        try await OtherKeySite.with(keyNamed: "hash-2") { other in
            let (site, account, living) = (other.site, other.account, other.living)
            for isOld in [true, false] {
                if isOld {
                    try await site.database.psql(
                        "create table public.kept as table accountctl.hash_key_canaries; delete from accountctl.hash_key_canaries"
                    )
                }
                for words in [["user", "find", account], ["user", "show", account], ["deletion", "show", account]] {
                    let none = try await other.run(words)
                    #expect(none.status == 3, "\(words): \(none)")
                    #expect(!none.errors.contains("none was erased"), "\(words): \(none)")
                    #expect(none.errors.contains(#"under the hash key "hash""#), "\(words): \(none)")
                }
                if isOld { try await site.database.psql("insert into accountctl.hash_key_canaries table public.kept") }
            }
            let row = try await other.run(["user", "find", account, "--tsv", "state"])
            #expect(row.output == "unknown\n", "\(row)")
            // An account that still has its row is found without a hash.
            #expect(try await other.run(["user", "find", living]).status == 0)
            // Acts that are not meant to make the key known are refused, and so is a worker before and after them.
            let rows =
                "select (select count(*) from accountctl.hash_key_canaries), (select count(*) from accountctl.operator_log)"
            let before = try await site.database.psql(rows)
            let refused: [([String], Int32)] = [
                (["worker", "--until-idle"], 5), (["user", "sign-out", living], 6),
                (["deletion", "resume", "--all", "--confirm=all", "--no-input"], 6), (["worker", "--until-idle"], 5),
            ]
            for (words, status) in refused {
                let early = try await other.run(words)
                #expect(early.status == status && early.errors.contains("was never used here"), "\(words): \(early)")
                #expect(early.errors.contains("accountctl deletion pause --all"), "\(words): \(early)")
                #expect(try await site.database.psql(rows) == before, "\(words)")
            }
            // Once registered, the key is the newer of two, and a worker starts with it.
            for words in [
                ["deletion", "pause", "--all"], ["deletion", "resume", "--all", "--confirm=all", "--no-input"],
                ["user", "sign-out", living],
            ] {
                let done = try await other.run(words)
                #expect(done.status == 0, "\(words): \(done)")
            }
            let last = try await site.database.psql("select max(id) from accountctl.operator_log")
            for (line, user, status) in [(last, living, 0), (last, account, 5), ("1", account, Int32(7))] {
                let shown = try await other.run(["audit", "show", line, "--user", user, "--json", "is_about_user"])
                #expect(shown.status == status && shown.output.contains("null") == (status == 7), "\(shown)")
                #expect(shown.errors.contains(#"under the hash key "hash""#) == (status == 7), "\(shown)")
            }
            let worker = try await other.run(["worker", "--until-idle"])
            #expect(worker.status == 0 && !worker.errors.contains("was never used here"), "\(worker.errors)")
            let none = try await other.run(["user", "find", account])
            #expect(none.errors.contains(#"under the hash key "hash""#), "\(none)")
            #expect(try await other.runWithSitesKey(["user", "find", account]).errors.contains("was erased on"))
        }
    }

    @Test("with the same name is noticed by every command that hashes, by canaries or, in older databases, by receipts")
    func noticed() async throws {
        try await OtherKeySite.with(keyNamed: "hash") { other in
            let (site, account, living) = (other.site, other.account, other.living)
            let number = try await site.database.psql("select number from accountctl.deletion_receipts")
            let stored = "select key_id, octet_length(canary) from accountctl.hash_key_canaries"
            #expect(try await site.database.psql(stored) == "hash|32")

            for isOld in [false, true] {
                if isOld { try await site.database.psql("delete from accountctl.hash_key_canaries") }
                for words in [
                    ["user", "find", account], ["user", "show", living], ["audit", "list", "--user", living],
                    ["user", "sign-out", living], ["deletion", "request", living, "--confirm=\(living)"],
                    ["deletion", "show", account], ["worker", "--until-idle"],
                ] {
                    let refused = try await other.run(words)
                    #expect(refused.status == 5, "\(words): \(refused.errors)")
                    #expect(
                        refused.errors.contains("\"hash\" is not the hash key that was used here"),
                        "\(refused.errors)"
                    )
                }
                let receipt = try await other.run(["deletion", "receipt", number])
                #expect(receipt.status == 7 && receipt.output.contains("unchecked"), "\(receipt.output)")
                #expect(receipt.errors.contains("is not the hash key that was used here"))
                // A search that needs no hash is answered.
                #expect(try await other.run(["user", "find", "stays3@example.com"]).status == 0)
                #expect(try await site.database.psql("select count(*) from accountctl.deletion_requests") == "1")
            }
            let right = try await other.runWithSitesKey(["deletion", "receipt", account])
            #expect(right.output.contains("intact"), "\(right.errors)")
            #expect(try await other.runWithSitesKey(["user", "find", account]).errors.contains("was erased on"))
        }
    }

    @Test("with another name is refused before an act, reported once by the act that registers it, and not again")
    func newHashKey() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let path = stage.path("new.key")
            #expect(try await AccountctlProcess.run("keys", "new", "hash-2", "--output", path).status == 0)
            let variables = stage.variables.merging(["ACCOUNTCTL_KEYS_HASH_FILE": path]) { $1 }
            let said = #"the hash key "hash-2" was never used here"#
            #expect(try await !stage.run(["user", "hold", id, "--reason", "court"]).errors.contains("hash key"))
            let ids = stage.path("ids")
            try "\(id)\n".write(toFile: ids, atomically: true, encoding: .utf8)
            let acts: [([String], Int32, Int)] = [
                (["user", "suspend", id, "--reason", "spam", "--dry-run"], 6, 1),
                (["deletion", "request", id], 6, 1), (["deletion", "request", "--file", ids, "--dry-run"], 6, 1),
                (["deletion", "pause", "--all", "--dry-run"], 0, 1), (["user", "find", id], 0, 0),
                // A list hashed with the wrong key would match no account in a restore with the right one.
                (["deletion", "export"], 6, 1),
                (["user", "suspend", id, "--reason", "spam", "--yes"], 6, 1), (["deletion", "pause", "--all"], 0, 1),
                (["user", "suspend", id, "--reason", "spam", "--yes"], 0, 0), (["user", "restore", id], 0, 0),
                (["deletion", "export"], 0, 0),
            ]
            for (words, status, times) in acts {
                let told = try await AccountctlProcess(words, environment: variables).result()
                #expect(told.status == status, "\(words): \(told)")
                #expect(told.errors.ranges(of: said).count == times, "\(words): \(told)")
                #expect(
                    times == 0 || told.errors.contains(#"does not find what was done under the hash key "hash""#),
                    "\(words): \(told)"
                )
            }
        }
    }

    /// An operator who stops erasures at night has the database, but perhaps only an old key file or none.
    @Test("does not keep deletions from being paused: they are paused first, and its fault is reported afterwards")
    func pauseAll() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            #expect(try await stage.run(["user", "hold", OperatorStage.id(1), "--reason", "court"]).status == 0)
            let other = stage.path("other.key")
            #expect(try await AccountctlProcess.run("keys", "new", "hash", "--output", other).status == 0)
            let damaged = stage.path("damaged.key")
            try SecretFile.write("damaged", to: URL(fileURLWithPath: damaged))
            let told: [(file: String?, status: Int32, why: String?)] = [
                (nil, 0, nil), (other, 7, #""hash" is not the hash key that was used here under that name"#),
                (damaged, 7, "the hash key cannot be read"), (stage.path("nowhere"), 7, "the hash key cannot be read"),
            ]
            let canaries = "select string_agg(encode(canary, 'hex'), ',') from accountctl.hash_key_canaries"
            let known = try await stage.database.psql(canaries)
            let paused = "select paused_at is not null from accountctl.deletion_brakes"
            let lines = """
                select count(*), count(subject_hash)
                from accountctl.operator_log
                where action = 'deletion.pause_all' and operator = 'olga' and reason = 'the wrong list' and ticket = 'T-1'
                """
            for (number, (file, status, why)) in told.enumerated() {
                let name = "ACCOUNTCTL_KEYS_HASH_FILE"
                let environment = stage.variables.filter { $0.key != name }
                    .merging(file.map { [name: $0] } ?? [:]) { $1 }
                for rehearsal in [true, false] {
                    let pause = try await AccountctlProcess(
                        [
                            "deletion", "pause", "--all", "--reason", "the wrong list", "--ticket", "T-1", "--tsv",
                            "outcome",
                        ]
                            + (rehearsal ? ["--dry-run"] : []),
                        environment: environment
                    ).result()
                    #expect(pause.status == status, "\(file ?? "no file"): \(pause)")
                    #expect(
                        pause.output == (rehearsal ? "would_be_done\n" : "done\n"),
                        "\(file ?? "no file"): \(pause)"
                    )
                    #expect(pause.errors.contains("no hash key") == (why != nil), "\(file ?? "no file"): \(pause)")
                    if let why { #expect(pause.errors.contains(why), "\(pause)") }
                    #expect(try await stage.database.psql(paused) == (rehearsal ? "f" : "t"), "\(file ?? "no file")")
                }
                #expect(try await stage.database.psql(lines) == "\(number + 1)|0", "\(file ?? "no file")")
                #expect(try await stage.database.psql(canaries) == known, "\(file ?? "no file")")
                // Other acts still need the right key.
                let resume = ["deletion", "resume", "--all", "--confirm=all"]
                #expect(try await AccountctlProcess(resume, environment: environment).result().status != 0)
                #expect(try await stage.run(resume).status == 0)
            }
        }
    }
}
