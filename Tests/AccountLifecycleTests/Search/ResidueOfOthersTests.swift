import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Data of other accounts that a search meets.
@Suite(.timeLimit(.minutes(5))) struct ResidueOfOthersTests {
    /// The address is free again once the rows are gone, and a pass may take half an hour.
    @Test func whoSignsUpAgainWhileTablesAreSearchedIsNoResidue() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.sql("create table public.letters (author uuid, address text)")
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.scrubAuth)))
            let drive = try await stage.admin.withTransaction { connection in
                try connection.execute("lock table public.letters in access exclusive mode")
                let drive = Task { try await stage.drive(request) }
                try await connection.waitUntilSomebodyIsBlocked()
                try connection.execute(
                    """
                    with again as (
                        insert into auth.users (id, email, created_at)
                        values (gen_random_uuid(), \(person.email), clock_timestamp())
                        returning id, email
                    )
                    insert into public.letters select id, email from again
                    """
                )
                return drive
            }
            #expect(try await drive.value == .ended(.verified))
        }
    }

    /// Otherwise anybody who names somebody else's address there would have all rows with that address taken for their
    /// own.
    @Test func whatAnybodyMaySayOfThemselvesIsNotSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql("create table public.letters (body text)")
            try await stage.sql("insert into public.letters values ('Write to support@example.com or +49 30 12345678')")
            try await stage.sql(
                """
                update auth.users
                set raw_user_meta_data = '{"email": "support@example.com"}',
                    email_change = 'support@example.com',
                    phone_change = '493012345678'
                where id = \(person.id)
                """
            )
            try await stage.erase(person)
        }
    }

    /// Anybody may give their files any name: such a file holds up nobody else's erasure, but is reported.
    @Test func filesOfOthersThatNameTheAccountAreTheirs() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("ben")
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('avatars', \("of-\(person.text).png"), \(other.id), \(other.text))
                """
            )
            // The same holds for a file that is still being uploaded.
            try await stage.sql(
                """
                with upload as (
                    insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version, owner_id)
                    values ('1', '', 'avatars', \("of-\(person.text).mov"), '1', \(other.text))
                )
                insert into storage.s3_multipart_uploads_parts (upload_id, part_number, bucket_id, key, etag, version, owner_id)
                values ('1', 1, 'avatars', \("of-\(person.text).mov"), '', '1', \(other.text))
                """
            )
            try await stage.erase(person)
            let told = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(told.contains("files that other accounts own"), "\(told)")
            // A file of nobody, or of an account that is gone, is residue.
            let next = try await stage.signUp("cleo")
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('avatars', \("of-\(next.text).png"), \(person.id), \(person.text))
                """
            )
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('avatars', \("and-\(next.text).png"), \(other.id), \(other.text))
                """
            )
            let second = try await stage.request(next)
            try await stage.drive(second)
            #expect(try await stage.state(second) == "residue")
            let situation = try #require(try await stage.situation(second))
            #expect(situation.findings?.contains { $0.column == "storage.objects.name" } == true)
            #expect(situation.detail?.contains("files that other accounts own") == true)
        }
    }

    /// The person signed in to the app's new team before the transfer, which created a second account, and now deletes
    /// that one: the former account is to get the same sub and address.
    @Test func whatATransferIsToGiveAnotherAccountIsNoResidue() async throws {
        try await Stage.with { stage in
            let former = try await stage.signUp("anna")
            let second = try await stage.signUp("berta")
            try await stage.sql(
                """
                insert into accountctl.apple_transfers (
                    user_id, client_id, target_team, transfer_identifier, new_sub, new_email, is_private_email, state
                )
                values (
                    \(former.id), \(Stage.clientID), 'RECIPIENT1', 't', \(second.sub), \(second.email), true, 'conflict'
                )
                """
            )
            try await stage.erase(second)
            // In any other place the address is residue.
            try await stage.sql("create table public.letters (address text)")
            let third = try await stage.signUp("clara")
            try await stage.sql(
                "update accountctl.apple_transfers set new_sub = \(third.sub), new_email = \(third.email)"
            )
            try await stage.sql("insert into public.letters values (\(third.email))")
            let last = try await stage.request(third)
            try await stage.drive(last)
            #expect(try await stage.situation(last)?.findings?.map(\.column) == ["public.letters.address"])
        }
    }

    /// Otherwise rows of whoever has one spelling of an accented letter would hide what has the other.
    @Test func aHolderHasAnAddressInItsOwnSpellingAlone() async throws {
        try await Stage.with { stage in
            let other = try await stage.signUp(apple: false)
            let spellings = ["jos\u{E9}@x.de", "jose\u{301}@x.de"]
            try await stage.sql("update auth.users set email = \(spellings[1]) where id = \(other.id)")
            let target = SearchTarget(
                request: UUID(),
                userID: UUID(),
                identifiers: spellings.compactMap { Identifier(email: $0) }
            )
            let holders = try await IdentifierHolders.find([target], in: stage.pool)
            #expect(holders.keys.map { Array($0.value.utf8) } == [Array(spellings[1].utf8)])
        }
    }

    /// Finding the other holders reads all accounts, so it has the deadline of a table's search, and not that of a
    /// short statement.
    @Test func otherHoldersAreFoundHoweverLongThatTakes() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let target = SearchTarget(
                request: UUID(),
                userID: UUID(),
                identifiers: [Identifier(email: person.email)].compactMap(\.self)
            )
            let holders = try await stage.withVeryManyAccounts { try await IdentifierHolders.find([target], in: $0) }
            #expect(Array(holders.values) == [[person.id]])
        }
    }
}
