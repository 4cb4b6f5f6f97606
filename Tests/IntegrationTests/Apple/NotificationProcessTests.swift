import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@Suite("Apple's notifications through the public listener", .timeLimit(.minutes(5)))
struct NotificationProcessTests {
    private func notification(
        _ event: AppleNotification.Event,
        _ person: AppleProgram.Person,
        age: Double = 0,
        form: AppleNotification.EventsForm = .text
    ) -> AppleNotification {
        var notification = AppleNotification(
            event,
            sub: person.sub,
            audience: AppleProgram.clientID,
            eventTime: Date() - age,
            issuedAt: Date() - age
        )
        notification.eventsForm = form
        return notification
    }

    private static let outcomes = """
        select string_agg(kind || ' ' || coalesce(outcome, 'waiting'), ', ' order by id)
        from accountctl.credential_events
        """

    private static func traces(_ person: AppleProgram.Person) -> String {
        """
        select
            (select count(*) from auth.sessions where user_id = '\(person.id)'),
            (select count(*) from accountctl.apple_credentials where user_id = '\(person.id)'),
            (select count(*) from accountctl.deletion_requests where user_id = '\(person.id)'),
            (select state from accountctl.apple_identity_marks where user_id = '\(person.id)')
        """
    }

    /// Waits until the worker has handled every event.
    private func waitUntilHandled(_ program: AppleProgram) async throws {
        try await program.database.waitUntil(
            "not exists (select from accountctl.credential_events where handled_at is null)",
            changes: "accountctl.credential_events"
        )
    }

    @Test("A worker accepts every spelling and every repetition, and acts on each event once")
    func worker() async throws {
        try await AppleProgram.with { program in
            let (anna, ben, clara) = (
                try await program.signUp(), try await program.signUp(), try await program.signUp()
            )
            let late = try await program.signUp()
            let exchanged = try await program.run("worker", "--until-idle")
            #expect(exchanged.status == 0, "\(exchanged.errors)")
            #expect(try await program.database.psql("select count(*) from accountctl.apple_credentials") == "4")
            // The credentials must be older than the events that follow.
            try await program.database.psql(
                "update accountctl.apple_credentials set obtained_at = obtained_at - interval '10 minutes'"
            )
            try await program.withListener("worker") { _, url in
                let sender = program.sandbox.notifications
                let thrice = try await sender.post(notification(.consentRevoked, anna), to: url, copies: 3)
                #expect(thrice == [200, 200, 200])
                // Both spellings of the event, one as an object and one as a string, request one deletion each.
                let object = notification(.accountDelete, ben, form: .object)
                #expect(try await sender.post(object, to: url) == [200])
                #expect(try await sender.post(notification(.accountDeleted, clara), to: url) == [200])
                // Delivered two hours late: the person has signed in since.
                #expect(try await sender.post(notification(.accountDeleted, late, age: 7200), to: url) == [200])
                try await waitUntilHandled(program)
            }
            #expect(
                try await program.database.psql(Self.outcomes)
                    == "consent-revoked done, account-deleted done, account-deleted done, account-deleted stale"
            )
            #expect(try await program.database.psql(Self.traces(anna)) == "0|0|0|consent_revoked")
            #expect(try await program.database.psql(Self.traces(ben)) == "0|0|1|account_deleted")
            #expect(try await program.database.psql(Self.traces(clara)) == "0|0|1|account_deleted")
            #expect(try await program.database.psql(Self.traces(late)) == "1|1|0|")
        }
    }

    @Test("A listener refuses and does not store what Apple did not sign for us, and fetches Apple's keys once")
    func hostile() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            try await program.withListener("serve") { process, url in
                let sender = program.sandbox.notifications
                for forgery in Forgery.allCases {
                    let answers = try await sender.post(notification(.accountDeleted, anna), to: url, forgery: forgery)
                    // An unknown key may be Apple's newest, and a token issued in the future becomes valid later: both
                    // can be retried.
                    let mayPass = [.unknownKeyID, .issuedInFuture].contains(forgery)
                    #expect(answers == [mayPass ? 503 : 400], "\(forgery)")
                }
                for _ in 0..<20 {
                    // Each forgery has a new key id.
                    let flood = notification(.accountDeleted, anna)
                    let answer = try await sender.post(flood, to: url, forgery: .unknownKeyID)
                    #expect(answer == [503])
                }
                let genuine = try sender.body(notification(.accountDeleted, anna))
                let token = genuine.dropFirst(12).dropLast(2)
                // An identity token is signed by Apple for the same app, and every user who signs in has one.
                let identity = try program.sandbox.apple.signIn(clientID: AppleProgram.clientID).identityToken
                for (body, status) in [
                    ("", 400), ("[]", 400), (String(genuine.dropLast(1)), 400), (String(token), 400),
                    (#"{"payload":"\#(token)","payload":"\#(token)"}"#, 400),
                    (#"{"payload":{"payload":"\#(token)"}}"#, 400), (#"{"payload":"\#(identity)"}"#, 400),
                    (#"{"payload":"\#(token)","padding":"\#(String(repeating: "x", count: 40_000))"}"#, 400),
                    (String(repeating: "[", count: 30_000), 400),
                    (#"{"payload":"\#(String(repeating: "x", count: 70_000))"}"#, 413),
                ] {
                    #expect(try await sender.post(body: body, to: url) == status, "\(body.prefix(60))")
                }
                let fetches = program.sandbox.journal.count(.appleKeys)
                #expect(fetches == 1)
                let kept = "select count(*) from accountctl.credential_events"
                #expect(try await program.database.psql(kept) == "0")
                // The listener still serves and stores the genuine notification.
                #expect(try await sender.post(body: genuine, to: url) == 200)
                #expect(try await program.database.psql(kept) == "1")
                let told = notification(.accountDeleted, anna)
                let again = try await sender.post(told, to: url, forgery: .foreignAudience)
                #expect(again == [400])
                process.signal(SIGTERM)
                let result = try await process.result()
                #expect(result.status == 0)
                // One log line tells the operator why nothing arrives; repeated notifications of this kind do not fill
                // the log.
                let lines = result.errors.split(separator: "\n").filter { $0.contains("that is not configured") }
                #expect(lines.count == 1 && lines.first?.contains("com.example.web") == true, "\(lines)")
            }
        }
    }

    @Test("A stopping listener stores and answers the request in progress: Apple might not send it again")
    func stopped() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            let told = notification(.consentRevoked, anna)
            try await program.withListener("serve") { process, url in
                let sender = program.sandbox.notifications
                let posted = try await program.database.withConnection(asAdministrator: true) { connection in
                    try await connection.transaction { connection in
                        try connection.execute("lock table accountctl.credential_events in exclusive mode")
                        let posted = Task { try await sender.post(told, to: url) }
                        try await program.database.waitUntilBlocked(sessions: 1)
                        process.signal(SIGTERM)
                        let isStopping = try await process.waitForErrors(containing: "stopping")
                        #expect(isStopping)
                        return posted
                    }
                }
                #expect(try await posted.value == [200])
                #expect(try await process.result().status == 0)
            }
            #expect(try await program.database.psql(Self.outcomes) == "consent-revoked waiting")
        }
    }

    @Test("A notification is answered while jobs hold every connection of theirs")
    func busy() async throws {
        try await AppleProgram.with { program in
            let (anna, ben) = (try await program.signUp(credential: false), try await program.signUp(credential: false))
            let sender = program.sandbox.notifications
            try await program.withListener("worker", environment: ["ACCOUNTCTL_DATABASE_CONNECTIONS": "1"]) { _, url in
                try await program.database.withConnection(asAdministrator: true) { connection in
                    try await connection.transaction { connection in
                        try connection.execute("select from auth.sessions for update")
                        #expect(try await sender.post(self.notification(.consentRevoked, anna), to: url) == [200])
                        // The handler of the first notification waits for a row lock and holds the only connection for
                        // jobs.
                        try await program.database.waitUntilRunning("delete from auth.sessions")
                        #expect(try await sender.post(self.notification(.consentRevoked, ben), to: url) == [200])
                    }
                }
                try await waitUntilHandled(program)
            }
            #expect(try await program.database.psql(Self.outcomes) == "consent-revoked done, consent-revoked done")
        }
    }

    @Test("A process that only serves the listener needs no sealing or hash key")
    func keyless() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            let keys: Set<String> = ["ACCOUNTCTL_KEYS_SEALING_FILE", "ACCOUNTCTL_KEYS_HASH_FILE"]
            #expect(keys.isSubset(of: program.variables.keys))
            try await program.withListener("serve", without: keys) { _, url in
                let sender = program.sandbox.notifications
                let answers = try await sender.post(notification(.consentRevoked, anna), to: url)
                #expect(answers == [200])
            }
            #expect(try await program.database.psql(Self.outcomes) == "consent-revoked waiting")
        }
    }

    @Test("A listener that cannot store the event or fetch Apple's keys answers 503, so that Apple retries")
    func notNow() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            let sender = program.sandbox.notifications
            let events = "select count(*) from accountctl.credential_events"
            try await program.withListener("serve") { _, url in
                program.sandbox.faults.set(Fault(.html(status: 403)), for: .appleKeys)
                let answer = try await sender.post(notification(.consentRevoked, anna), to: url)
                #expect(answer == [503])
                program.sandbox.faults.clearAll()
            }
            try await program.withListener("serve") { _, url in
                // The job cannot be stored, so the event must not be stored either.
                try await program.database.psql(
                    "alter table accountctl.jobs add constraint shut check (kind <> 'apple.handle_event')"
                )
                let told = notification(.consentRevoked, anna)
                #expect(try await sender.post(told, to: url) == [503])
                #expect(try await program.database.psql(events) == "0")
                try await program.database.psql("alter table accountctl.jobs drop constraint shut")
                #expect(try await sender.post(told, to: url) == [200])
                #expect(try await program.database.psql(events) == "1")
            }
        }
    }

    @Test("A worker killed in the middle of a burst has stored every notification that it answered with 200")
    func killed() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            let sender = program.sandbox.notifications
            let burst = (0..<400).map { _ in notification(.consentRevoked, anna) }
            let accepted = Accepted()
            try await program.withListener("worker") { process, url in
                await withTaskGroup(of: Bool.self) { group in
                    for lane in 0..<8 {
                        group.addTask {
                            for item in burst.indices where item % 8 == lane {
                                // A killed process cuts its connections.
                                guard let answer = try? await sender.post(burst[item], to: url), answer == [200] else {
                                    return false
                                }
                                if await accepted.add(burst[item].identifier) == 120 {
                                    process.signal(SIGKILL)
                                    return true
                                }
                            }
                            return false
                        }
                    }
                    // The process is dead: the other lanes cannot connect.
                    for await hasKilled in group where hasKilled { group.cancelAll() }
                }
            }
            let promised = await accepted.identifiers
            #expect(promised.count >= 120)
            #expect(promised.count < burst.count)
            let list = promised.map { "'\(AppleProgram.clientID)/\($0)'" }.joined(separator: ",")
            let kept = "select count(*) from accountctl.credential_events where notification_id in (\(list))"
            #expect(try await program.database.psql(kept) == "\(promised.count)")

            // Apple sends unanswered notifications again; each is stored once.
            try await program.withListener("worker") { _, url in
                for item in burst {
                    let answer = try await sender.post(item, to: url)
                    #expect(answer == [200])
                }
                try await waitUntilHandled(program)
            }
            let all = "select count(*), count(handled_at) from accountctl.credential_events"
            #expect(try await program.database.psql(all) == "\(burst.count)|\(burst.count)")
        }
    }
}

/// The notifications that were answered with 200.
private actor Accepted {
    private(set) var identifiers: [String] = []

    /// - Returns: How many there are now.
    func add(_ identifier: String) -> Int {
        identifiers.append(identifier)
        return identifiers.count
    }
}
