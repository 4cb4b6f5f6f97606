import Foundation
import TestSupport
import Testing

extension JobsCommandTests {
    @Test("A job goes to its kind's own queue, and a probable typo is pointed out")
    func ownQueue() async throws {
        try await TestDatabase.with(.migrated) { database in
            func jobs(_ words: String...) async throws -> AccountctlProcess.Result {
                try await AccountctlProcess(["jobs"] + words, environment: database.variables).result()
            }
            let own = try await jobs("enqueue", "deletion.upkeep")
            #expect(own.status == 0 && own.errors.isEmpty, "\(own.errors)")
            #expect(try await database.psql("select queue from accountctl.jobs") == "deletions")
            let typo = try await jobs("enqueue", "deletion.upkep")
            #expect(typo.status == 0 && typo.errors.contains("did you mean deletion.upkeep?"), "\(typo.errors)")
            let known = try await jobs("pause", "mail", "--yes")
            #expect(known.status == 0 && !known.errors.contains("warning"), "\(known.errors)")
            let unknown = try await jobs("pause", "aple", "--yes", "--dry-run")
            #expect(unknown.status == 0 && unknown.errors.contains("did you mean apple?"), "\(unknown.errors)")
            for (words, meant) in [
                (["resume", "aple"], "apple"), (["limit", "aple", "--count", "3"], "apple"),
                (["limit", "--kind", "mail.chek", "--running", "2"], "mail.check"),
            ] {
                let told = try await AccountctlProcess(["jobs"] + words, environment: database.variables).result()
                #expect(told.status == 0 && told.errors.contains("did you mean \(meant)?"), "\(words): \(told)")
                let right = words.map { $0 == "aple" || $0 == "mail.chek" ? meant : $0 }
                let silent = try await AccountctlProcess(["jobs"] + right, environment: database.variables).result()
                #expect(silent.status == 0 && !silent.errors.contains("warning"), "\(right): \(silent)")
            }
            let astray = try await jobs("enqueue", "mail.schedule", "--queue", "mial", "--dry-run")
            #expect(astray.status == 0 && astray.errors.contains("did you mean mail?"), "\(astray)")
            let misplaced = try await jobs("enqueue", "mail.schedule", "--queue", "deletions", "--dry-run")
            let alone = "workers run mail.schedule only from the queue mail"
            #expect(misplaced.status == 0 && misplaced.errors.contains(alone), "\(misplaced)")
            // An app's own workers may take the job, so there is a single warning.
            let theirs = try await jobs("enqueue", "app.own", "--queue", "app")
            #expect(theirs.errors.split(separator: "\n").count(where: { $0.contains("warning") }) == 1, "\(theirs)")
            let limited = try await jobs("limit", "app", "--count", "5")
            #expect(limited.errors.contains("none of accountctl's own jobs are in the queue app"), "\(limited)")
            #expect(try await jobs("limit", "--kind", "app.own", "--running", "2").status == 0)
            let silent = try await jobs("enqueue", "app.own", "--queue", "app")
            #expect(silent.status == 0 && silent.errors.isEmpty, "\(silent)")
        }
    }

    @Test("A job of a built-in kind is added only with arguments that its workers can read")
    func readableArguments() async throws {
        try await TestDatabase.with(.migrated) { database in
            let request = UUID().uuidString
            let key = ["enqueue", "account.delete", "--unique-key", "account.delete:\(request.lowercased())"]
            let bare = try await jobs(database, key)
            #expect(bare.status == 2 && bare.errors.contains("arguments cannot be read: request is missing"), "\(bare)")
            let wrong = try await jobs(database, key + ["--arguments", #"{"request": 7}"#])
            #expect(wrong.status == 2 && wrong.errors.contains("--arguments cannot be read: request is"), "\(wrong)")
            #expect(try await database.psql("select count(*) from accountctl.jobs") == "0")
            let right = try await jobs(database, key + ["--arguments", #"{"request": "\#(request)"}"#])
            #expect(right.status == 0, "\(right)")
        }
    }

    @Test("A job is found by its unique key, while it is unfinished and afterwards")
    func findsByKey() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await database.psql(
                """
                select concat_ws(' ', accountctl.enqueue_job('test.kind', unique_key => 'order 7'),
                    accountctl.enqueue_job('test.kind', unique_key => 'order 8'))
                """
            )
            .split(separator: " ").map(String.init)
            try #require(ids.count == 2)
            func found(_ words: String...) async throws -> String {
                let result = try await jobs(database, words + ["--unique-key", "order 7", "--tsv", "id"])
                #expect(result.status == 0, "\(result.errors)")
                return result.output
            }
            #expect(try await found("list") == "\(ids[0])\n")
            #expect(try await jobs(database, ["discard"] + ids + ["--reason", "of no use", "--yes"]).status == 0)
            #expect(try await found("list") == "")
            #expect(try await found("list", "--state", "discarded") == "\(ids[0])\n")
            // Two jobs were discarded; only the one with the key is run again.
            #expect(try await found("retry", "--state", "discarded", "--yes") == "\(ids[0])\n")
            #expect(try await database.psql("select id from accountctl.jobs") == ids[0])
        }
    }

    @Test("A list of jobs is added as a whole, each job as if it were added alone")
    func enqueuesLists() async throws {
        try await TestDatabase.with(.migrated) { database in
            let list = #"""
                {"kind":"mail.schedule","unique_key":"z","arguments":{"n":1234567890123456789012345678901234567.5,"t":"\\u0000"},"priority":1}
                {"kind":"test.own","queue":"own","in":"1h","limit_key":"l","max_attempts":2,"arguments_version":3}

                {"kind":"mail.schedule","unique_key":"a"}
                {"kind":"mail.schedule","unique_key":"z","in":"2h"}
                """#
            func enqueue(_ list: String, _ words: String...) async throws -> AccountctlProcess.Result {
                try await AccountctlProcess(
                    ["jobs", "enqueue", "--file", "-"] + words,
                    environment: database.variables,
                    input: list
                )
                .result()
            }
            let rehearsed = try await enqueue(list, "--dry-run")
            #expect(rehearsed.status == 0 && rehearsed.errors.contains("3 jobs would be added; 1 "), "\(rehearsed)")
            #expect(try await database.psql("select count(*) from accountctl.jobs") == "0")
            let added = try await enqueue(list, "--tsv", "id,is_new")
            let rows = added.output.split(separator: "\n").map { $0.split(separator: "\t") }
            #expect(added.status == 0 && rows.map { $0[1] } == ["true", "true", "true", "false"], "\(added)")
            #expect(rows.count == 4 && rows[0][0] == rows[3][0])
            #expect(
                try await database.psql(
                    """
                    select string_agg(concat_ws(' ', kind, queue, state, unique_key, args, priority), ',' order by unique_key)
                    from accountctl.jobs
                    where kind = 'mail.schedule'
                    """
                )
                    == #"mail.schedule mail available a {} 5,mail.schedule mail available z {"n": 1234567890123456789012345678901234567.5, "t": "\\u0000"} 1"#
            )
            #expect(
                try await database.psql(
                    """
                    select concat_ws(' ', id, queue, state, limit_key, max_attempts, args_version,
                        round(extract(epoch from run_at - now()) / 3600))
                    from accountctl.jobs
                    where kind = 'test.own'
                    """
                )
                    == (rows.count == 4 ? "\(rows[1][0]) own scheduled l 2 3 1" : "")
            )
            #expect(
                try await database.psql(
                    """
                    select string_agg(concat_ws(' ', facts->>'kind', facts->>'jobs'), ',' order by id)
                    from accountctl.operator_log
                    where action = 'jobs.enqueue'
                    """
                )
                    == "mail.schedule 2,test.own 1"
            )
        }
    }

    @Test("A bad line of a list is reported with its number and field, and nothing is added")
    func refusesBadLines() async throws {
        let cases = [
            ("no json", "is not a JSON object"), ("[]", "is not a JSON object"),
            (#"{"kind":"k""#, "is not a JSON object"),
            ("{}", "kind is missing"), (#"{"kind":7}"#, "kind must be a string"),
            (#"{"kind":"K"}"#, "kind must be 1 to"),
            (#"{"kind":"k","arguments":[]}"#, "arguments must be a JSON object"),
            (#"{"kind":"k","arguments":"{}"}"#, "arguments must be a JSON object"),
            (#"{"kind":"k","arguments":{"a":"\u0000"}}"#, "arguments must"),
            (#"{"kind":"k","arguments":{"a":"\ud800"}}"#, "is not a JSON object"),
            (#"{"kind":"k","arguments":{"n":1e999}}"#, "is not a JSON object whose numbers fit a double"),
            (#"{"kind":"k","arguments":{"n":1e200}}"#, "holds a number that is too large, small or long"),
            (#"{"kind":"k","arguments":{"n":[1\#(String(repeating: "0", count: 47))1]}}"#, "holds a number"),
            (
                #"{"kind":"k","arguments":{"a":"\#(String(repeating: "x", count: 262_144))"}}"#,
                "arguments must not exceed"
            ),
            (#"{"kind":"k","arguments_version":0}"#, "arguments_version must be between"),
            (#"{"kind":"mail.check","arguments_version":2}"#, "arguments_version must not exceed 1"),
            (#"{"kind":"mail.check"}"#, "arguments cannot be read: stream is missing"),
            (#"{"kind":"k","priority":"1"}"#, "priority must be a whole number"),
            (#"{"kind":"k","priority":1.5}"#, "priority must be a whole number"),
            (#"{"kind":"k","max_attempts":40000}"#, "max_attempts must be between 1 and 32000"),
            (#"{"kind":"k","priority":10}"#, "priority must be between"),
            (#"{"kind":"k","priority":10000000000000000000}"#, "priority must be between"),
            (#"{"kind":"k","priority":-1e30}"#, "priority must be between"),
            (#"{"kind":"k","queue":"a b"}"#, "queue must be 1 to"),
            (#"{"kind":"k","in":"soon"}"#, "in must be a length"),
            (#"{"kind":"k","in":"9000d"}"#, "in must be between"),
            (#"{"kind":"k","at":"noon"}"#, "at: "), (#"{"kind":"k","at":"9000-01-01"}"#, "at must be between"),
            (#"{"kind":"k","in":"1h","at":"2099-01-01"}"#, "cannot be combined"),
            (#"{"kind":"k","unique_key":""}"#, "unique_key must"), (#"{"kind":"k","limit_key":""}"#, "limit_key must"),
            (#"{"kind":"k","max_attempts":0}"#, "max_attempts must"),
            (#"{"kind":"k","prioritty":1}"#, "is not a field of a job; did you mean priority?"),
        ]
        try await TestDatabase.with(.migrated) { database in
            let list = [#"{"kind":"k"}"#] + cases.map(\.0)
            let result = try await AccountctlProcess(
                ["jobs", "enqueue", "--file", "-"],
                environment: database.variables,
                input: list.joined(separator: "\n")
            )
            .result()
            #expect(result.status == 2 && result.output.isEmpty)
            let told = result.errors.split(separator: "\n").filter { $0.contains(#/line [0-9]+: /#) }
            #expect(told.count == cases.count, "\(result.errors)")
            for (index, (words, expected)) in zip(told, cases.map(\.1)).enumerated() {
                #expect(words.contains("line \(index + 2): ") && words.contains(expected), "\(words)")
            }
            #expect(try await database.psql("select count(*) from accountctl.jobs") == "0")
            for words in [[], ["k", "--file", "-"], ["--file", "-", "--priority", "1"], ["--file", "/nowhere"]] {
                #expect(try await jobs(database, ["enqueue"] + words).status == 2, "\(words)")
            }
        }
    }
}
