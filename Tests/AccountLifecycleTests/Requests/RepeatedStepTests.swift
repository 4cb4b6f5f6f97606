import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import Testing

/// When a step runs again and finds nothing, what its earlier runs found and did is still reported.
@Suite(.timeLimit(.minutes(5))) struct RepeatedStepTests {
    @Test func theReceiptTellsWhatWasDoneBefore() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.verify)) {
                // As if with an old token: rows and files are checked again.
                try await stage.upload("\(person.text)/late.png", by: nil)
            }
            #expect(pause == .ended(.verified))
            let steps = try await stage.receiptSteps(request)
            #expect(steps["delete_rows"]?.runs == 2)
            #expect(steps["delete_rows"]?.outcome == "ok")
            #expect(steps["delete_rows"]?.facts.counts?["users"] == 1)
            #expect(steps["scrub_auth"]?.runs == 2)
            #expect(steps["scrub_auth"]?.outcome == "ok")
            #expect(steps["scrub_auth"]?.facts.counts?["audit_entries"] ?? 0 > 0)
            #expect(steps["delete_avatars"]?.facts.counts?["objects"] == 4)
        }
    }

    @Test func whatVerifyScrubsIsCountedAsScrubbed() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.verify)) {
                try await stage.sql(
                    """
                    insert into auth.flow_state (id, user_id, provider_type, authentication_method)
                    values (gen_random_uuid(), \(person.id), 'apple', 'oauth')
                    """
                )
            }
            #expect(pause == .ended(.verified))
            let steps = try await stage.receiptSteps(request)
            #expect(steps["scrub_auth"]?.runs == 2)
            #expect(steps["scrub_auth"]?.facts.counts?["flow_states"] == 1)
            #expect(steps["scrub_auth"]?.facts.counts?["audit_entries"] ?? 0 > 0)
        }
    }

    /// An address that was changed while the request waited may still be in old rows.
    @Test func whatAnEarlierPreflightCollectedIsSearchedForToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.requestThatStorageStops(person)
            try await stage.sql(
                """
                update auth.users
                set email = 'new@example.com', raw_user_meta_data = '{"email": "new@example.com"}'
                where id = \(person.id)
                """
            )
            try await stage.sql(
                "update auth.identities set identity_data = '{\"email\": \"new@example.com\"}' where user_id = \(person.id)"
            )
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.kept.note"])
        }
    }

    /// Another worker has an older key file.
    @Test func whatAnEarlierPreflightSealedIsNotReplacedByWhoCannotOpenIt() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.requestThatStorageStops(person)
            try await stage.sql("update auth.users set email = 'new@example.com' where id = \(person.id)")
            let strange = stage.services(vault: try stage.vaultWithAnotherKey())
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.kept.note"])
        }
    }

    /// Storage deletes everything, but its answer is lost.
    @Test func whatATryThatFailedHadDeletedIsCounted() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for name in ["a", "b", "c"] { try await stage.upload("\(person.text)/\(name).png", by: person) }
            let request = try await stage.request(person)
            let fault = stage.sandbox.faults.set(.drop(.after), for: .storageDeleteMany)
            guard case .failed = try await stage.drive(request) else { throw Unexpected("an answer came") }
            stage.sandbox.faults.clear(fault)
            #expect(try await stage.count("select from storage.objects") == 0)
            #expect(try await stage.drive(request) == .ended(.verified))
            let step = try await stage.receiptSteps(request)["delete_avatars"]
            #expect(step?.outcome == "ok")
            #expect(step?.facts.counts?["objects"] == 3)
        }
    }

    /// A deploy stops the worker during a part: what that part deleted is unknown, but the receipt counts the parts
    /// before it.
    @Test func partsOfATryThatWasCancelledAreCounted() async throws {
        try await Stage.with { stage in
            let (person, policy) = try await stage.personWithTwoBuckets()
            let request = try await stage.request(person)
            let parts = Counter()
            let drive = Task {
                try await stage.drive(request, policy) { point in
                    guard point == .middle(.deleteAvatars) else { return }
                    parts.add()
                    if parts.value == 2 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            await #expect(throws: CancellationError.self) { try await drive.value }
            #expect(try await stage.count("select from storage.objects") == 0)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            let step = try await stage.receiptSteps(request)["delete_avatars"]
            #expect(step?.outcome == "ok")
            #expect(step?.facts.counts?["objects"] == 1)
        }
    }

    /// Another failure stops the step after the first batches of a table of the app are deleted.
    @Test func batchesOfATryThatDidNotEndAreCounted() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql(
                "create table public.notes (id serial primary key, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql("create index on public.notes (author)")
            try await stage.sql("grant select, delete on public.notes to postgres")
            try await stage.sql("insert into public.notes (author) select \(person.id) from generate_series(1, 50)")
            try await stage.admin.withConnection { try $0.execute("analyze public.notes") }
            var policy = Stage.swift
            policy.batchRows = 20
            let request = try await stage.request(person)
            await #expect(throws: SimulatedCrash.self) {
                try await stage.drive(request, policy, probe: SimulatedCrash.once(at: .middle(.deleteRows)))
            }
            #expect(try await stage.count("select from public.notes") == 0)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            let counts = try await stage.receiptSteps(request)["delete_rows"]?.facts.counts
            #expect(counts == ["users": 1, "batched_rows": 50])
        }
    }
}

extension Stage {
    /// Creates a request whose preflight has collected the account's identifiers and then met a busy Storage; the
    /// account's address is in a table of the app, `public.kept`, as well.
    fileprivate func requestThatStorageStops(_ person: Person) async throws -> UUID {
        try await upload("\(person.text)/me.png", by: person)
        try await sql("create table public.kept (note text)")
        try await sql("insert into public.kept values (\(person.email))")
        let request = try await request(person)
        let fault = sandbox.faults.set(.storageBusy)
        guard case .failed = try await drive(request) else { throw Unexpected("went on without Storage") }
        sandbox.faults.clear(fault)
        return request
    }

    /// The steps of a request's receipt, by name.
    fileprivate func receiptSteps(_ request: UUID) async throws -> [String: ReceiptDocument.Step] {
        Dictionary(try await receipt(of: request).steps.map { ($0.step, $0) }) { _, last in last }
    }
}
