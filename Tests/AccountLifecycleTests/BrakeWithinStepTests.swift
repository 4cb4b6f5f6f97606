import Foundation
import Postgres
import Sandbox
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import AccountLifecycle

/// Brakes that are pulled while a step is under way: what it has not done yet it leaves.
@Suite(.timeLimit(.minutes(5))) struct BrakeWithinStepTests {
    /// Every way to stop a request whose account is locked out.
    enum Brake: CaseIterable {
        case everythingPaused, requestPaused, held, otherAccount

        var situation: Situation.Code {
            switch self {
            case .everythingPaused, .requestPaused: .paused
            case .held: .legalHold
            case .otherAccount: .otherAccount
            }
        }
    }

    @Test func aPauseAfterAStepBeganIsSeenBeforeItsFirstAct() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            for step in DeletionStep.allCases where step.isIrreversible {
                let person = try await stage.fullAccount("p\(step.rawValue.prefix(3))")
                let request = try await stage.request(person)
                let before = Recorded()
                try await stage.drive(request, once: .begun(step)) {
                    try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
                    before.text = try await stage.data(of: person)
                }
                #expect(try await stage.state(request) == "held", "in \(step)")
                #expect(try await stage.outcome(step, request) == nil, "\(step) was taken")
                #expect(try await stage.data(of: person) == before.text, "\(step) did something")
                try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
                #expect(try await stage.drive(request) == .ended(.verified))
            }
        }
    }

    /// The lock-out was decided on already: it looks again under its locks, and takes nothing before.
    @Test(arguments: Brake.allCases)
    func nobodyIsLockedOutWhoIsStoppedAtThatMoment(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let before = try await stage.data(of: person)
            try await stage.drive(request, once: .begun(.lockOut)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.data(of: person) == before)
            #expect(try await stage.outcome(.lockOut, request) == nil)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test(arguments: Brake.allCases)
    func batchesOfRowsStop(_ brake: Brake) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.posts (id int, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql("create index on public.posts (author)")
            try await stage.sql("grant select, delete on public.posts to postgres")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 250) as g")
            try await stage.sql("analyze public.posts")
            var policy = Stage.swift
            policy.batchRows = 100
            let request = try await stage.request(person)
            try await stage.drive(request, policy, once: .between(.deleteRows)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.count("select from public.posts") == 150)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from public.posts") == 0)
        }
    }

    @Test(arguments: Brake.allCases)
    func partsOfTheFilesStop(_ brake: Brake) async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('scans', 'scans')")
            let person = try await stage.signUp()
            try await stage.upload("\(person.text)/me.png", by: person)
            #expect(try await stage.upload("\(person.text)/id.png", by: nil, bucket: "scans"))
            var policy = Stage.swift
            policy.buckets = ["avatars", "scans"]
            let request = try await stage.request(person)
            try await stage.drive(request, policy, once: .middle(.deleteAvatars)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            #expect(stage.sandbox.storage.files(bucket: "scans").count == 1)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "scans").isEmpty)
        }
    }

    /// Nothing is held that could be revoked: the step would end at once, and with that have begun for good; nor does the
    /// delete have to be tried once more.
    @Test(arguments: Brake.allCases, [false, true])
    func theStepAtAppleDoesNotEndWhereNothingIsHeld(_ brake: Brake, _ isUntried: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            if isUntried { try await stage.refuseUntried("P0001") }
            try await stage.drive(request, once: .begun(.revokeApple)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.count("select from accountctl.deletion_steps where step = 'revoke_apple'") == 0)
            try await stage.sql("drop trigger if exists refuse on public.profiles")
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_held")
        }
    }

    @Test(arguments: Brake.allCases)
    func credentialsNotYetRevokedAreKept(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            // Of an identity that moved: dealt with second, and without asking Apple.
            let other = try await stage.signUp("berta", apple: false)
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values ('moved', \(other.id), '{}', 'apple', now())
                """
            )
            try await stage.sql(
                """
                insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                values (\(person.id), 'com.example.web', 'moved', 'x', 'test1')
                """
            )
            let request = try await stage.request(person)
            try await stage.driveWithoutApple(request, once: .middle(.revokeApple)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            let left = try await stage.value(
                "select string_agg(client_id, ' ') from accountctl.apple_credentials",
                as: String.self
            )
            #expect(left == "com.example.web")
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_revoked")
        }
    }

    /// Whoever signs in with the same Apple Account while the call waits for its turn.
    @Test func aCredentialWhoseIdentitySomebodyElseGotMeanwhileIsNotRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("berta", apple: false)
            let context = AppleCredential.context(user: person.id, clientID: "com.example.web")
            let sealed = stage.vault.keys.seal(Secret("token"), for: context)
            try await stage.sql(
                """
                insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                values (\(person.id), 'com.example.web', 'unlinked', \(sealed.text), 'test1')
                """
            )
            let request = try await stage.request(person)
            try await stage.driveWithoutApple(request, once: .middle(.revokeApple)) {
                try await stage.sql(
                    """
                    insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                    values ('unlinked', \(other.id), '{}', 'apple', now())
                    """
                )
            }
            #expect(try await stage.state(request) == "verified")
            let counts = try await stage.value(
                "select apple_counts::text from accountctl.deletion_requests",
                as: String.self
            )
            #expect(counts == #"{"revoked": 1, "not_revoked": 1}"#)
            #expect(try await stage.count("select from accountctl.pending_revocations") == 0)
        }
    }

    /// It serves many and may read for half an hour.
    @Test(arguments: [Brake.everythingPaused, .requestPaused])
    func aPassThatScrubsIsTakenBack(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.scrubAuth)))
            let before = try await stage.data(of: person)
            let drive = try await stage.admin.withTransaction { connection in
                try connection.execute("select from auth.audit_log_entries for update")
                let drive = Task { try await stage.drive(request) }
                try await connection.waitUntilSomebodyIsBlocked()
                try await stage.pull(brake, on: person, request)
                return drive
            }
            _ = try await drive.value
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.outcome(.scrubAuth, request) == nil)
            #expect(try await stage.data(of: person) == before)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.traces(of: person) == "")
        }
    }

    /// Those who share the pass are not driven through the step again, nor is what they did lost.
    @Test func aPassThatScrubsGoesOnForTheOthers() async throws {
        try await Stage.with { stage in
            let services = stage.services()
            let driver = DeletionDriver(services)
            var people: [Person] = []
            var requests: [UUID] = []
            for name in ["anna", "berta", "clara"] {
                let person = try await stage.fullAccount(name)
                let request = try await stage.request(person)
                try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.scrubAuth)))
                people.append(person)
                requests.append(request)
            }
            let (first, stopped, other) = (requests[0], requests[1], requests[2])
            let lock = { @Sendable (person: Person, connection: isolated Connection) throws -> Void in
                try connection.execute(
                    "select from auth.audit_log_entries where payload ->> 'actor_id' = \(person.text) for update"
                )
            }
            let drives = try await stage.admin.withTransaction { [people] connection in
                try lock(people[2], connection)
                // The first has a pass of its own, and the two who come meanwhile share the next.
                let drives = try await stage.admin.withTransaction { connection in
                    try lock(people[0], connection)
                    var drives = [Task { try await driver.drive(first) }]
                    try await connection.waitUntilSomebodyIsBlocked()
                    for request in [stopped, other] { drives.append(Task { try await driver.drive(request) }) }
                    try await services.scrubs.untilWaiting(2)
                    return drives
                }
                try await connection.waitUntilSomebodyIsBlocked()
                try await stage.pull(.requestPaused, on: people[1], stopped)
                return drives
            }
            for drive in drives { _ = try await drive.value }
            #expect(try await stage.situation(stopped)?.code == .paused)
            #expect(try await stage.outcome(.scrubAuth, stopped) == nil)
            #expect(try await stage.state(other) == "verified")
            // Once before the crash, once since.
            let runs = try await stage.value(
                "select runs from accountctl.deletion_steps where request_id = \(other) and step = 'scrub_auth'",
                as: Int.self
            )
            #expect(runs == 2)
            try await stage.release(.requestPaused, on: people[1], stopped)
            #expect(try await driver.drive(stopped) == .ended(.verified))
            for person in people { #expect(try await stage.traces(of: person) == "") }
        }
    }

    /// Nobody reads a whole table for those who are stopped anyway.
    @Test func whereEverythingIsPausedTheAuditLogIsNotRead() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.scrubAuth)))
            try await stage.admin.withTransaction { connection in
                try connection.execute("lock table auth.audit_log_entries in access exclusive mode")
                try await stage.drive(request) { point in
                    if point == .begun(.scrubAuth) { try await stage.pull(.everythingPaused, on: person, request) }
                }
            }
            #expect(try await stage.situation(request)?.code == .paused)
        }
    }

    /// Only possible by hand, a restored backup for one; all the same nothing of it may be lost.
    @Test func anAccountRestoredUnderTheSameIDIsLeftAloneAndTheRequestCanEnd() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.drive(request, once: .begun(.scrubAuth)) {
                try await stage.sql(
                    """
                    insert into auth.users (instance_id, id, aud, role, email, created_at, banned_until)
                    values (
                        '00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated',
                        'new@example.com', clock_timestamp(), '2100-01-01 00:00Z'
                    )
                    """
                )
                try await stage.sql(
                    """
                    insert into auth.flow_state (id, user_id, provider_type, authentication_method)
                    values (gen_random_uuid(), \(person.id), 'apple', 'oauth')
                    """
                )
            }
            #expect(try await stage.situation(request)?.code == .otherAccount)
            #expect(try await stage.count("select from auth.flow_state where user_id = \(person.id)") == 1)
            let act = try await stage.pool.withConnection { try await desk.cancel(request, reason: "other", on: $0) }
            #expect(act == .done)
            #expect(try await stage.drive(request) == .ended(.cancelled))
            let kept: Statement = "select from auth.users where id = \(person.id) and banned_until > '2099-01-01'"
            #expect(try await stage.count(kept) == 1)
        }
    }
}

/// What a probe saw.
private final class Recorded: Sendable {
    private let stored = Mutex("")

    var text: String {
        get { stored.withLock(\.self) }
        set { stored.withLock { $0 = newValue } }
    }
}

extension Stage {
    /// Everything outside our own schema that a deletion removes, and the credentials, as one text.
    fileprivate func data(of person: Person) async throws -> String {
        let rows = try await value(
            """
            select concat_ws(
                ' ',
                (select count(*) || coalesce(max(banned_until)::text, '') from auth.users where id = \(person.id)),
                (select count(*) from auth.sessions where user_id = \(person.id)),
                (select count(*) from auth.flow_state where user_id = \(person.id)),
                (select count(*) from auth.audit_log_entries where payload ->> 'actor_id' = \(person.text)),
                (select count(*) from storage.objects where owner = \(person.id)),
                (select count(*) from accountctl.apple_credentials where user_id = \(person.id)),
                (select count(*) from accountctl.deletion_requests where user_id = \(person.id))
            )
            """,
            as: String.self
        )
        let consent = person.sub.map { sandbox.apple.consent(sub: $0, clientID: Self.clientID) }
        return "\(rows) \(consent.map { "\($0)" } ?? "")"
    }

    fileprivate func pull(_ brake: BrakeWithinStepTests.Brake, on person: Person, _ request: UUID) async throws {
        switch brake {
        case .everythingPaused:
            try await pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
        case .requestPaused:
            _ = try await pool.withConnection { try await desk.pause(request, reason: "test", on: $0) }
        case .held:
            _ = try await pool.withConnection { try await desk.hold(person.id, reason: "court", on: $0) }
        case .otherAccount:
            try await sql("update auth.users set created_at = now() + interval '1 hour' where id = \(person.id)")
        }
    }

    fileprivate func release(_ brake: BrakeWithinStepTests.Brake, on person: Person, _ request: UUID) async throws {
        switch brake {
        case .everythingPaused:
            try await pool.withConnection { try await desk.resumeAll(on: $0) }
        case .requestPaused:
            _ = try await pool.withConnection { try await desk.resume(request, on: $0) }
        case .held:
            _ = try await pool.withConnection { try await desk.release(person.id, reason: nil, on: $0) }
        case .otherAccount:
            try await sql("update auth.users set created_at = now() - interval '1 hour' where id = \(person.id)")
        }
    }

    /// Drives a request past the preflight although a client id is not configured.
    fileprivate func driveWithoutApple(
        _ request: UUID,
        once point: DeletionPoint,
        _ act: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await sql("update accountctl.deletion_requests set without_apple = true where id = \(request)")
        try await drive(request, once: point, act)
    }
}
