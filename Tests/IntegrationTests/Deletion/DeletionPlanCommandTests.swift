import Foundation
import TestSupport
import Testing

@Suite("Deletion plans", .timeLimit(.minutes(5)))
struct DeletionPlanCommandTests {
    @Test("A plan follows the configured buckets, and an undecided bucket blocks the deletion")
    func plan() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let plain = try await site.deletion(["plan", "stays2@example.com"])
            #expect(plain.status == 0, "\(plain.errors)")
            try await site.database.psql(
                """
                insert into storage.buckets (id, name) values ('scans', 'scans');
                insert into storage.objects (bucket_id, name, owner, owner_id)
                select 'scans', id || '/id.png', id, id::text from auth.users
                """
            )
            let before = try await site.everything()
            let cases: [(settings: [String: String], status: Int32, fate: String)] = [
                ([:], 6, "undecided"), (["ACCOUNTCTL_DELETION_BUCKETS": "scans"], 0, "deleted"),
                (["ACCOUNTCTL_DELETION_KEPT_BUCKETS": "scans"], 0, "kept"),
            ]
            for (settings, status, fate) in cases {
                let words = ["plan", "stays2@example.com", "--json", "objects,blockers", "--ask-triggers"]
                let plan = try await site.deletion(words, settings)
                #expect(plan.status == status, "\(fate)")
                #expect(plan.output.contains(fate), "\(plan.output)")
                #expect(plan.output.contains("undecided_bucket") == (status == 6), "\(plan.output)")
                #expect(plan.errors.contains("accountctl deletion plan --help") == (status == 6), "\(plan.errors)")
            }
            #expect(try await site.everything() == before)
            try await site.database.psql(
                """
                insert into accountctl.holds (user_id, reason, placed_by)
                select id, 'court', 'olga' from auth.users where email = 'stays3@example.com'
                """
            )
            let held = try await site.deletion(
                ["plan", "stays3@example.com", "--json", "blockers"],
                ["ACCOUNTCTL_DELETION_BUCKETS": "scans"]
            )
            #expect(held.status == 6 && held.output.contains("legal_hold"), "\(held)")
        }
    }

    /// The number of objects that a plan names in each bucket.
    private struct Planned: Decodable {
        struct Bucket: Decodable {
            let objects: Int
        }
        let objects: [Bucket]
    }

    @Test("A file without an owner that one profile names follows the setting for its folder")
    func folders() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            try await site.database.psql(
                """
                insert into auth.users (instance_id, id, aud, role, email, created_at)
                values (
                    '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
                    'named@example.com', now()
                );
                insert into storage.objects (bucket_id, name) values ('avatars', 'defaults/x.png');
                update public.profiles
                set avatar_url = 'defaults/x.png'
                where id = (select id from auth.users where email = 'named@example.com')
                """
            )
            let cases: [(settings: [String: String], status: Int32, objects: [Int])] = [
                ([:], 6, []), (["ACCOUNTCTL_DELETION_AVATAR_FOLDERS": "defaults"], 0, [1]),
                (["ACCOUNTCTL_DELETION_KEPT_AVATAR_FOLDERS": "defaults"], 0, []),
            ]
            for (settings, status, objects) in cases {
                let words = ["plan", "named@example.com", "--json", "objects,blockers"]
                let plan = try await site.deletion(words, settings)
                #expect(plan.status == status, "\(settings): \(plan)")
                #expect(plan.output.contains("undecided_file") == (status == 6), "\(settings): \(plan)")
                let planned = try JSONDecoder().decode(Planned.self, from: Data(plan.output.utf8))
                #expect(planned.objects.map(\.objects) == objects, "\(settings): \(plan)")
            }
        }
    }
}
