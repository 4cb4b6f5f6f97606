import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Failures and false answers of Storage, its requested delays, and files that only seem to be the account's.
@Suite(.timeLimit(.minutes(5))) struct StorageFaultTests {
    /// Objects with long metadata are deleted without a failure, although Storage answers a delete with all the rows.
    ///
    /// People who upload may write much metadata into a row.
    @Test func objectsWithLongMetadataGoAtOnce() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id, user_metadata)
                select 'avatars', n::text, \(person.id), \(person.text), jsonb_build_object('note', repeat('x', 3000))
                from generate_series(1, 600) as n
                """
            )
            try await stage.erase(person)
            #expect(try await stage.count("select from storage.objects") == 0)
        }
    }

    /// Storage's database has a time limit: where many rows refer to files without an index, a call that deletes
    /// hundreds exceeds it each time.
    @Test func aCallForTooManyFilesIsFollowedByCallsForFewer() async throws {
        try await Stage.with { stage in
            try await stage.limitDeletes(from: "storage.objects", to: 10)
            let person = try await stage.signUp()
            try await stage.addFiles(40, of: person)
            try await stage.erase(person)
            #expect(try await stage.count("select from storage.objects") == 0)
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 5)
        }
    }

    /// A failure of anything else, such as an outage, says nothing about the number of files.
    @Test func aCallAfterOtherFailuresIsForAsManyFiles() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.addFiles(40, of: person)
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteAvatars)) {
                try await stage.sql("update accountctl.deletion_requests set failures = 6")
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 1)
        }
    }

    /// An outage of Storage costs an attempt a few calls, each for fewer files; one, if Storage asks to be left alone.
    @Test(arguments: [(Fault.html(status: 502), 3), (.status(502, retryAfter: "900"), 1)])
    func aCallThatFailsHoweverFewFilesItIsForFailsTheStep(_ fault: Fault, _ calls: Int) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.addFiles(40, of: person)
            let request = try await stage.request(person)
            let id = stage.sandbox.faults.set(fault, for: .storageDeleteMany)
            let situation = try await stage.drive(request).failure
            #expect(situation.code == .storageUnusable)
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == calls)
            stage.sandbox.faults.clear(id)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func storageThatLiesIsNotBelieved() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            for fault in [Fault.emptySuccess, .pretendedSuccess] {
                let id = stage.sandbox.faults.set(fault, for: .storageDeleteMany)
                guard case .failed(_, let situation) = try await stage.drive(request) else {
                    Issue.record("believed \(fault)")
                    return
                }
                #expect(situation.code == .storageUnusable)
                #expect(try await stage.state(request) == "running")
                #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func storageThatDeletesWhatNobodyAskedForIsTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let id = stage.sandbox.faults.set(
                .status(200, body: #"[{"name": "stranger.jpeg"}]"#),
                for: .storageDeleteMany
            )
            let situation = try await stage.drive(request).failure
            #expect(situation.detail?.contains("nobody asked for") == true, "\(situation)")
            stage.sandbox.faults.clear(id)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// A request waits before the lock-out while Storage is down, even without files.
    ///
    /// After the lock-out, Storage is asked whether it lists any files.
    @Test(arguments: [true, false]) func storageThatIsDownHoldsUpBeforeTheLockOut(_ hasFiles: Bool) async throws {
        try await Stage.with { stage in
            let person = try await hasFiles ? stage.fullAccount() : stage.signUp()
            let request = try await stage.request(person)
            for fault in [Fault.html(), .storageBusy, .drop(), .status(500)] {
                let id = stage.sandbox.faults.set(fault)
                guard case .failed(let delay, let situation) = try await stage.drive(request) else {
                    Issue.record("went on with \(fault)")
                    return
                }
                #expect(delay >= .seconds(30))
                #expect(situation.code == .storageUnusable)
                #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func storageIsLeftAloneForAsLongAsItAsks() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let busy = #"{"statusCode":"503","error":"Service Unavailable","message":"slow","code":"SlowDown"}"#
            for fault in [Fault.html(), .status(503, body: busy, retryAfter: "900")] {
                let id = stage.sandbox.faults.set(fault)
                guard case .failed(let delay, let situation) = try await stage.drive(request) else {
                    Issue.record("went on with \(fault)")
                    return
                }
                let asked = Duration.seconds(900)
                if case .status = fault.answer { #expect(delay == asked) } else { #expect(delay < asked) }
                #expect(situation.code == .storageUnusable)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// A call that Storage rejects without acting is repeated; one that may have had an effect fails this attempt at
    /// the step.
    @Test(arguments: [
        (Fault.status(429), 2, true), (.status(503, retryAfter: "0"), 2, true), (.storageBusy, 2, true),
        (.html(status: 503), 2, true), (.html(status: 502), 1, false), (.drop(), 1, false),
        (.status(429, retryAfter: "900"), 1, false),
    ])
    func aCallThatStorageTurnsAwayIsRepeated(_ fault: Fault, _ calls: Int, _ isDone: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(fault.times(1), for: .storageDeleteMany)
            #expect(try await (stage.drive(request) == .ended(.verified)) == isDone)
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == calls)
        }
    }

    /// A rejected call counts its deletions, since a proxy may report an error although Storage has carried out the
    /// call.
    @Test func whatACallDidThatWasTurnedAwayIsCounted() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for key in ["a.png", "b.png"] { try await stage.upload(key, by: person) }
            let request = try await stage.request(person)
            stage.sandbox.faults.set(Fault(.status(503), effect: .before).times(1), for: .storageDeleteMany)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.avatarCounts(request)["objects"] == 2)
        }
    }

    @Test func aCallThatIsAlwaysTurnedAwayFailsTheStep() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.status(429), for: .storageDeleteMany)
            let situation = try await stage.drive(request).failure
            #expect(situation.code == .storageUnusable)
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 3)
        }
    }

    @Test func aFileThatSomebodyElseGetsBeforeTheCallIsRepeatedStays() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            for key in ["logo.png", "me.png"] { try await stage.upload(key, by: person) }
            let request = try await stage.request(person)
            let gate = FaultGate()
            var fault = Fault.status(429).times(1)
            fault.gate = gate
            stage.sandbox.faults.set(fault, for: .storageDeleteMany)
            let drive = Task { try await stage.drive(request) }
            await gate.reached()
            try await stage.setOwner(of: "logo.png", other)
            gate.open()
            #expect(try await drive.value == .ended(.verified))
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 2)
            let left = try await stage.value("select string_agg(name, ' ') from storage.objects", as: String.self)
            #expect(left == "logo.png")
        }
    }

    @Test func aBucketNobodyDecidedAboutBlocks() async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('invoices', 'invoices')")
            let person = try await stage.signUp()
            try await stage.sql(
                "insert into storage.objects (bucket_id, name, owner_id) values ('invoices', '1.pdf', \(person.text))"
            )
            let request = try await stage.request(person)
            let lines = LogLines()
            _ = try await DeletionDriver(stage.services(logger: lines.logger)).drive(request)
            #expect(try await stage.situation(request)?.code == .undecidedBucket)
            #expect(try await stage.situation(request)?.subject == "invoices")
            #expect(lines.all.contains { $0.contains("situation=undecided_bucket") && $0.contains("subject=invoices") })
            var policy = Stage.swift
            policy.keptBuckets = ["invoices"]
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from storage.objects") == 1)
        }
    }

    /// An undecided bucket blocks the final search as well, instead of being reported as residue.
    ///
    /// Residue would be removed by hand, which deletes the row without the bytes.
    @Test func aBucketThatNobodyDecidedAboutBlocksTheLastSearchToo() async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('invoices', 'invoices')")
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            // An old token uploads into a bucket where the account had no files before.
            try await stage.drive(request, once: .before(.verify)) {
                _ = try await stage.upload("\(person.text)/1.pdf", by: nil, bucket: "invoices")
            }
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .undecidedBucket)
            #expect(try await stage.situation(request)?.subject == "invoices")
            var policy = Stage.swift
            policy.buckets = ["avatars", "invoices"]
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "invoices").isEmpty)
            #expect(try await stage.avatarCounts(request) == ["objects": 1])
        }
    }

    /// The receipt names the buckets that are kept, where rows are not searched and the account's files stay.
    @Test func theReceiptNamesTheBucketsThatAreKept() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for bucket in ["invoices", "letters"] {
                try await stage.sql("insert into storage.buckets (id, name) values (\(bucket), \(bucket))")
            }
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner_id)
                values ('invoices', '1.pdf', \(person.text)), ('invoices', \(person.text + "/2.pdf"), null),
                       ('invoices', '3.pdf', null)
                """
            )
            // The row of an upload names the account as the rows of objects do.
            try await stage.sql(
                """
                insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version, owner_id)
                values ('a', 'x', 'letters', 'big.mov', '1', \(person.text)),
                       ('b', 'x', 'letters', 'other.mov', '1', null)
                """
            )
            var policy = Stage.swift
            policy.keptBuckets = ["invoices", "letters"]
            let request = try await stage.erase(person, policy)
            let document = try await stage.receipt(of: request)
            for step in document.steps where ["verify", "settle"].contains(step.step) {
                #expect(step.facts.kept == ["invoices": 2, "letters": 1], "\(step.step)")
            }
            #expect(document.outOfScope.contains { $0.contains("bucket invoices") && $0.hasSuffix("left there: 2") })
            #expect(document.outOfScope.contains { $0.contains("bucket letters") && $0.hasSuffix("left there: 1") })
        }
    }

    /// Files in a kept bucket change the proof, from which the app tells the person whether everything is deleted.
    @Test(arguments: [(true, "accepted"), (false, "searched")])
    func filesThatAKeptBucketKeepsAreTold(_ hasFile: Bool, _ proof: String) async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('invoices', 'invoices')")
            let person = try await stage.signUp()
            if hasFile {
                try await stage.sql(
                    "insert into storage.objects (bucket_id, name, owner_id) values ('invoices', '1.pdf', \(person.text))"
                )
            }
            var policy = Stage.swift
            policy.keptBuckets = ["invoices"]
            let request = try await stage.erase(person, policy)
            #expect(try await stage.proofs(of: request) == Array(repeating: proof, count: 3))
        }
    }

    /// An ownerless file is the person's if the profile has its address in any form in which Storage writes it.
    @Test(arguments: [
        "my%20face.png", "https://x.supabase.co/storage/v1/object/public/avatars/my%20face.png?v=1", "my face.png",
    ])
    func theFileOfAnEscapedAddressIsThePersons(_ url: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for key in ["my%20face.png", "other.png"] { #expect(try await stage.upload(key, by: nil)) }
            #expect(try await stage.count("select from storage.objects where name = 'my face.png'") == 1)
            try await stage.sql("update public.profiles set avatar_url = \(url) where id = \(person.id)")
            try await stage.erase(person)
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects", as: String.self)
            }
            #expect(keys == ["other.png"])
        }
    }

    /// A file that another person obtains after it was found is kept.
    ///
    /// All files are found in one pass, and then deleted in batches, which may take long.
    @Test func aFileThatSomebodyElseGotSinceItWasFoundStays() async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('teams', 'teams')")
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            try await stage.upload("\(person.text)/me.png", by: person)
            for key in ["logo.png", "banner.png"] {
                #expect(try await stage.upload(key, by: nil, bucket: "teams"))
                try await stage.setOwner(of: key, person)
            }
            var policy = Stage.swift
            policy.buckets = ["avatars", "teams"]
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, policy, once: .middle(.deleteAvatars)) {
                try await stage.setOwner(of: "logo.png", other)
            }
            #expect(pause == .ended(.verified))
            #expect(try await stage.count("select from storage.objects where name = 'logo.png'") == 1)
            #expect(stage.sandbox.storage.files(bucket: "teams").count == 1)
            #expect(try await stage.avatarCounts(request)["objects"] == 2)
        }
    }
}

extension Stage {
    /// Adds rows of files that have no bytes.
    fileprivate func addFiles(_ count: Int, of person: Person) async throws {
        try await sql(
            """
            insert into storage.objects (bucket_id, name, owner, owner_id)
            select 'avatars', n::text, \(person.id), \(person.text)
            from generate_series(1, \(count)) as n
            """
        )
    }

    /// Sets the owner of an object, as Storage does when somebody replaces it by an upload.
    fileprivate func setOwner(of key: String, _ person: Person) async throws {
        try await sql(
            "update storage.objects set owner = \(person.id), owner_id = \(person.text) where name = \(key)"
        )
    }
}
