import Foundation
import TestSupport
import Testing

@Suite("Mail streams, from their declaration to their removal", .timeLimit(.minutes(5)))
struct RelayStreamTests {
    @Test("A stream is declared, listed, checked twice by the worker, shown with its differences, asked about, removed")
    func stream() async throws {
        try await ZoneServer.withServer(MailZone.sound) { server in
            try await TestDatabase.with(.migrated) { database in
                let keys = try TestKeys.make()
                defer { keys.remove() }
                let variables = database.variables.merging(keys.variables) { $1 }
                    .merging(["ACCOUNTCTL_MAIL_RESOLVERS": server.address, "USER": "kim"]) { $1 }
                func run(_ arguments: String...) async throws -> AccountctlProcess.Result {
                    try await AccountctlProcess(["relay"] + arguments, environment: variables).result()
                }
                func work() async throws {
                    try await database.psql(
                        "select accountctl.enqueue_job(kind => 'mail.check', args => jsonb_build_object('stream', id), "
                            + "queue => 'mail', unique_key => 'mail.check:' || id) from accountctl.mail_streams"
                    )
                    let worker = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                    #expect(worker.status == 0, "\(worker.errors)")
                }
                let add = ["relay", "stream", "add", "news", "shop.test"] + MailZone.options
                let json = ["--json", "outcome"]
                let dry = try await AccountctlProcess(add + ["--dry-run"] + json, environment: variables).result()
                #expect(dry.status == 0 && dry.output.contains(#""would_be_done""#), "\(dry)")
                #expect(try await run("stream", "list", "--json").output == "[]\n")
                let added = try await AccountctlProcess(add + json, environment: variables).result()
                #expect(added.status == 0 && added.output.contains(#""done""#), "\(added)")
                #expect(added.errors.contains("to check it now: accountctl relay check news\n"), "\(added)")
                for again in [add, add + ["--dry-run"]] {
                    let twice = try await AccountctlProcess(again, environment: variables).result()
                    #expect(twice.status == 6 && twice.errors.contains("the stream news exists already"))
                }

                let anew = try await AccountctlProcess(add + ["--replace"] + json, environment: variables).result()
                #expect(anew.status == 0 && anew.output.contains(#""done""#), "\(anew)")

                let user = UUID().uuidString.lowercased()
                try await database.psql(
                    "insert into auth.users (id, email) values ('\(user)', 'x1@privaterelay.appleid.com')"
                )
                func todo(_ user: String) async throws -> AccountctlProcess.Result {
                    try await run("can-send", "--stream", "news", "--user", user, "--tsv", "todo")
                }
                let early = try await todo(user)
                #expect(early.status == 75 && early.output.contains("accountctl relay check news"), "\(early)")
                try await work()
                let once = try await run("stream", "list", "--json", "name,reachable")
                #expect(once.output.contains(#""reachable":null"#), "one check is not enough: \(once.output)")
                try await work()
                let settled = try await run("stream", "list", "--json", "name,spf,dkim,reachable")
                let held = #"{"dkim":"ok","name":"news","reachable":"yes","spf":"ok"}"#
                #expect(settled.output.contains(held), "\(settled.output)")
                for term in [user, "x1@privaterelay.appleid.com"] {
                    let yes = try await run("can-send", "--stream", "news", "--user", term, "--json")
                    #expect(yes.status == 0 && yes.output.contains(#""answer": "yes""#), "\(yes)")
                    #expect(yes.output.contains(#""user_id": "\#(user)""#), "\(yes)")
                }

                // As if nothing were registered any more, which the paths do not show.
                let answer = "update accountctl.mail_streams set reachable = 'no', standing = "
                try await database.psql(answer + "jsonb_set(standing, '{known,reachable}', '\"no\"')")
                let unregistered = try await run("can-send", "--stream", "news", "--user", user, "--tsv", "reason,todo")
                #expect(unregistered.status == 8 && unregistered.output.contains("SPF ok, DKIM ok"), "\(unregistered)")
                #expect(unregistered.output.contains("open, but its name is not registered"), "\(unregistered)")
                let former = answer.replacing("'no'", with: "'yes'")
                try await database.psql(former + "jsonb_set(standing, '{known,reachable}', '\"yes\"')")

                // A part of DNS fails: what is known stays known, and ages.
                try server.publish(
                    MailZone.changed(
                        (
                            "_spf.esp.test TXT v=spf1 ip4:192.0.2.25 ip6:2001:db8:25::25 -all",
                            "_spf.esp.test TXT SERVFAIL"
                        )
                    )
                )
                for _ in 0..<2 { try await work() }
                let aged = try await run("stream", "list", "--json", "name,spf,reachable,unknown_since")
                #expect(aged.output.contains(#""reachable":"yes","spf":"ok","unknown_since":"2"#), "\(aged.output)")
                #expect(try await run("can-send", "--stream", "news", "--user", user).status == 0)

                try server.publish("shop.test TXT none")
                for _ in 0..<2 { try await work() }
                let typo = try await run("can-send", "--stream", "nwes", "--user", user)
                #expect(typo.status == 3 && typo.errors.contains("there is no stream \"nwes\""), "\(typo.errors)")
                let no = try await run("can-send", "--stream", "news", "--user", user)
                #expect(no.status == 8 && no.output.contains("does not take mail of this stream"), "\(no.output)")
                let mending = try await todo(user).output
                #expect(mending.contains("no path is open: something has to be published"), "\(mending)")
                #expect(mending.contains("accountctl relay check news --explain"), "\(mending)")
                // The stream is not the reason.
                let nobody = try await todo(UUID().uuidString)
                #expect(nobody.status == 8 && !nobody.output.contains("accountctl"), "\(nobody)")
                let shown = try await run("stream", "show", "news")
                #expect(shown.output.contains("reachable: yes -> no") && shown.output.contains("spf.missing"))
                #expect(shown.output.contains("shop.test (by kim)"))
                // Programs that declare the stream again need the names alone.
                let declaration = try await run("stream", "show", "news", "--format", "ndjson", "--json", "declared")
                #expect(declaration.output.contains(#"{"by":"kim","name":"shop.test"}"#), "\(declaration)")
                #expect(try await run("check", "news").status == 8)
                #expect(try await run("check", "news", "--selector", "s2").status == 2)
                #expect(try await run("check", "other").status == 3)
                #expect(try await run("check").status == 8)

                let counted = try await run("addresses")
                #expect(counted.output.contains("privaterelay.appleid.com"))
                let listed = try await run("addresses", "--list")
                #expect(listed.output.contains(user) && !listed.output.contains("x1@"), "masked: \(listed.output)")

                #expect(try await run("stream", "remove", "news").status == 2, "nobody to ask")
                let rehearsed = try await run("stream", "remove", "news", "--dry-run", "--json", "outcome")
                #expect(rehearsed.output.contains(#""would_be_done""#), "\(rehearsed)")
                let removed = try await run("stream", "remove", "news", "--confirm=news", "--json", "outcome")
                #expect(removed.status == 0 && removed.output.contains(#""done""#), "\(removed)")
                #expect(try await run("stream", "show", "news").status == 3)

                let selector = "k1=p=" + MailZone.rsaKey
                _ = try await run("stream", "add", "keyed", "shop.test", "--selector", selector, "--provider", "")
                let declared = try await run("stream", "show", "keyed", "--json")
                #expect(declared.output.contains(selector), "\(declared)")
                #expect(declared.output.contains(#""provider": null"#), "\(declared)")
            }
        }
    }
}
