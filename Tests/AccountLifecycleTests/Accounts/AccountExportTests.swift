import Foundation
import HTTPCalls
import ObjectStorage
import Postgres
import Sandbox
import Sealing
import TestSupport
import Testing

@testable import AccountLifecycle

/// What an archive contains, even if data changes while it is written, which takes hours for large accounts.
@Suite(.timeLimit(.minutes(5))) struct AccountExportTests {
    /// Writes an archive and calls a closure after the first file.
    private func export(
        _ person: Person,
        on stage: Stage,
        through storage: StorageClient? = nil,
        afterFirstFile: () async throws -> Void = {}
    ) async throws -> (manifest: ExportManifest, bytes: String) {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).tar").path
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try #require(FileHandle(forWritingAtPath: path))
        let export = AccountExport(pool: stage.pool, storage: StorageGateway(storage ?? stage.storage))
        let manifest = try await export.write(person.id, to: file.fileDescriptor, now: Date()) { done, _ in
            if done == 1 { try await afterFirstFile() }
        }
        try file.close()
        return (manifest, try String(contentsOfFile: path, encoding: .isoLatin1))
    }

    @Test func aFileThatSomebodyElseGotSinceItWasFoundIsNotHandedOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            for key in ["a.png", "b.png"] { try await stage.upload(key, by: person) }
            let (manifest, bytes) = try await export(person, on: stage) {
                try await stage.sql(
                    "update storage.objects set owner = \(other.id), owner_id = \(other.text) where name = 'b.png'"
                )
            }
            #expect(manifest.files.map { $0.file != nil } == [true, false])
            #expect(manifest.files.map(\.missing) == [nil, .noLongerOwned])
            #expect(bytes.contains("bytes of a.png") && !bytes.contains("bytes of b.png"))
            // Spelled as in the archive's tables, so that programs find the one in the other.
            #expect(bytes.contains("\"account\" : \"\(person.text)\""))
        }
    }

    /// A file is not requested if a gateway may resolve its object key to another account's file.
    ///
    /// People choose the object keys of their files, and the export calls Storage with a secret that opens every
    /// object.
    @Test func aFileWhoseKeyAGatewayTakesForAnothersIsNotAskedFor() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            let theirs = "\(other.text)/me.png"
            #expect(try await stage.upload(theirs, by: other))
            for key in ["\(other.text)//me.png", "x/%2E%2E/\(theirs)", "\(other.text)/%2E/me.png", "own.png"] {
                #expect(try await stage.upload(key, by: person), "\(key)")
            }
            try await TCPProxy.with(to: stage.sandbox.port) { gateway in
                gateway.behaviour = .forwardResolved
                let storage = StorageClient(
                    address: try ServiceAddress("http://127.0.0.1:\(gateway.port)/storage/v1", allowPlainHTTP: true),
                    key: try StorageKey(Secret(stage.sandbox.storage.keys.secretKey)),
                    caller: stage.caller,
                    deadline: .seconds(20)
                )
                let (manifest, bytes) = try await export(person, on: stage, through: storage)
                #expect(manifest.files.filter { $0.missing == .unaddressable }.count == 3)
                #expect(manifest.files.filter { $0.file != nil }.map(\.key) == ["own.png"])
                #expect(bytes.contains("bytes of own.png") && bytes.contains("unaddressable"))
                #expect(!bytes.contains("bytes of \(theirs)"))
            }
        }
    }

    /// A bucket may have the name of one of Storage's own routes, which share a path with the buckets.
    @Test func aBucketCalledLikeARouteIsReadAsABucket() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            let theirs = "\(other.text)/me.png"
            let bucket = "authenticated"
            try await stage.sql("insert into storage.buckets (id, name, public) values (\(bucket), \(bucket), false)")
            #expect(try await stage.upload(theirs, by: other))
            #expect(try await stage.upload("avatars/\(theirs)", by: nil, bucket: bucket))
            try await stage.sql(
                """
                update storage.objects
                set owner = \(person.id), owner_id = \(person.text)
                where bucket_id = \(bucket)
                """
            )
            let (manifest, bytes) = try await export(person, on: stage)
            #expect(manifest.files.map { $0.file != nil } == [true])
            #expect(bytes.contains("bytes of avatars/\(theirs)") && !bytes.contains("bytes of \(theirs)"))
        }
    }

    /// An ownerless file that the profile names is exported only if the operator declares its folder to be of accounts.
    ///
    /// The archive goes to the author of the profile, who can name any ownerless file in it.
    @Test func filesOfNobodyAreHandedOutWhereTheOperatorSaysThatTheyAreAccounts() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            #expect(try await stage.upload("internal/plan.png", by: nil))
            try await stage.setAvatar(of: person, "internal/plan.png")
            let (manifest, bytes) = try await export(person, on: stage)
            #expect(manifest.files.isEmpty && !bytes.contains("bytes of internal/plan.png"))
            let declared = AccountExport(
                pool: stage.pool,
                storage: nil,
                folders: AvatarFolders(accounts: ["internal"])
            )
            let survey = try await declared.survey(person.id, now: Date())
            #expect(survey.files.map(\.key) == ["internal/plan.png"])
        }
    }

    /// The manifest counts the rows that also name another account.
    ///
    /// Unless an operator reviews such rows, a person who was reported learns who made the report.
    @Test func rowsOfTwoAccountsAreCounted() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            try await stage.sql(
                """
                create table public.reports (
                    reporter uuid references auth.users, reported uuid references public.profiles, text text
                )
                """
            )
            try await stage.sql(
                """
                insert into public.reports
                values (\(other.id), \(person.id), 'rude'), (null, \(person.id), 'x'), (\(person.id), \(person.id), 'y'),
                       (\(other.id), \(other.id), 'z')
                """
            )
            let written = try await export(person, on: stage).manifest
            let counted = try await AccountExport(pool: stage.pool, storage: nil).survey(person.id, now: Date())
            for manifest in [written, counted] {
                let shared = manifest.tables.filter { $0.namesOthers > 0 }
                #expect(shared.map(\.table) == ["public.reports"])
                #expect(shared.map(\.rows) == [3] && shared.map(\.namesOthers) == [1])
            }
        }
    }

    /// Values are not exported through a cast to JSON, which the owner of a type may define and the server would call.
    @Test func valuesAreNotWrittenByCodeOfOthers() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let other = try await OtherRole(
                on: stage,
                making: """
                    create type others.mood as enum ('happy');
                    create type others.day as (mood others.mood, rain int);
                    create function others.mood_json(others.mood) returns json language sql as
                    $$ select '"forged"'::json $$;
                    create cast (others.mood as json) with function others.mood_json(others.mood);
                    """
            )
            try await stage.sql(
                """
                create table public.diary (
                    account uuid references auth.users, mood others.mood, moods others.mood[], day others.day,
                    unset others.mood, words text[]
                )
                """
            )
            try await stage.sql(
                "insert into public.diary values (\(person.id), 'happy', '{happy}', '(happy,2)', null, '{a,b}')"
            )
            let (manifest, bytes) = try await export(person, on: stage)
            let diary = manifest.tables.first { $0.table == "public.diary" }
            #expect(diary?.rows == 1)
            #expect(diary?.asText == ["mood", "moods", "day", "unset"])
            #expect(
                bytes.contains(
                    #""mood":"happy","moods":"{happy}","day":"(happy,2)","unset":null,"words":["a","b"]"#
                )
            )
            #expect(!bytes.contains("forged"))
            try await stage.sql("drop table public.diary")
            try await other.drop()
        }
    }

    /// A foreign key to an account's user name identifies the account just as one to its id does.
    @Test func rowsThatNameAnotherAccountByItsNameAreCounted() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            try await stage.sql(
                """
                create table public.reports (
                    reporter uuid references auth.users, reported text references public.profiles (username)
                )
                """
            )
            try await stage.sql("alter table public.profiles add invited_by text references public.profiles (username)")
            try await stage.sql("update public.profiles set username = 'berta' where id = \(other.id)")
            try await stage.sql("update public.profiles set invited_by = 'berta' where id = \(person.id)")
            try await stage.sql(
                """
                insert into public.reports
                values (\(person.id), 'berta'), (\(person.id), null), (\(other.id), 'berta')
                """
            )
            func shared() async throws -> [String] {
                try await export(person, on: stage).manifest.tables.filter { $0.namesOthers > 0 }.map {
                    "\($0.table) \($0.namesOthers) of \($0.rows)"
                }
            }
            #expect(try await shared() == ["public.profiles 1 of 1", "public.reports 1 of 2"])
            try await stage.sql("update public.profiles set username = 'anna' where id = \(person.id)")
            try await stage.sql("insert into public.reports values (null, 'anna'), (\(other.id), 'anna')")
            #expect(try await shared() == ["public.profiles 1 of 1", "public.reports 1 of 3"])
        }
    }

    @Test func anArchiveSaysThatTheAccountIsBeingErased() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            // Until Apple has been called, the request may still be cancelled.
            for point in [DeletionPoint.after(.lockOut), .begun(.revokeApple)] {
                try await stage.driveToCrash(request, SimulatedCrash.once(at: point))
                let manifest = try await export(person, on: stage).manifest
                #expect(manifest.erasureBegunAt == nil && manifest.files.count == 3, "\(point)")
            }
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.deleteAvatars)))
            let (manifest, bytes) = try await export(person, on: stage)
            #expect(manifest.files.isEmpty && manifest.erasureBegunAt != nil)
            #expect(bytes.contains("erasure_begun_at"))
        }
    }

    /// An erasure that begins while the files are written is recorded, even if the account is gone by the end.
    @Test(arguments: [SimulatedCrash.once(at: .after(.deleteAvatars)), { @Sendable _ in }])
    func anArchiveSaysThatAnErasureBeganMeanwhile(_ probe: @escaping DeletionProbe) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for key in ["a.png", "b.png"] { try await stage.upload(key, by: person) }
            let (manifest, bytes) = try await export(person, on: stage) {
                try await stage.driveToCrash(try await stage.request(person), probe)
            }
            #expect(manifest.files.map { $0.file != nil } == [true, false])
            #expect(manifest.erasureBegunAt != nil)
            #expect(bytes.contains("erasure_begun_at"))
        }
    }
}
