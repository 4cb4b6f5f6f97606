import AccountLifecycle
import Foundation
import Postgres
import Testing

/// What the cascade leaves behind in Supabase's schemas.
@Suite(.timeLimit(.minutes(5))) struct AuthScrubTests {
    private func add(_ action: String, by actor: String, traits: [String: String], on stage: Stage) async throws {
        try await stage.sql(
            """
            insert into auth.audit_log_entries (id, payload, created_at, ip_address)
            values (
                gen_random_uuid(),
                json_build_object(
                    'action', \(action)::text, 'actor_id', \(actor)::text, 'actor_username', 'x', 'log_type', 'user',
                    'traits', \(JSON(traits))
                ),
                now(),
                '203.0.113.7'
            )
            """
        )
    }

    private func entry(_ action: String, on stage: Stage) async throws -> String {
        try await stage.value(
            "select payload::jsonb::text from auth.audit_log_entries where payload ->> 'action' = \(action)",
            as: String.self
        )
    }

    /// A bucket that somebody created stays, without an owner.
    @Test func whoMadeABucketIsForgotten() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            try await stage.sql(
                """
                insert into storage.buckets (id, name, owner, owner_id)
                values ('one', 'one', \(person.id), \(person.text)), ('two', 'two', \(other.id), \(other.text))
                """
            )
            try await stage.erase(person)
            let owners = try await stage.value(
                "select string_agg(concat_ws(' ', id, owner, owner_id), ',' order by id) from storage.buckets where id in ('one', 'two')",
                as: String.self
            )
            #expect(owners == "one,two \(other.text) \(other.text)")
        }
    }

    /// The auth server names an unlinked identity as its provider does, and for e-mail and phone that name is the user
    /// id.
    @Test func anIdentityThatWasUnlinkedLeavesNoName() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let sub = try #require(person.sub)
            let providers = [("email", person.text), ("phone", person.text), ("apple", sub)]
            for (provider, name) in providers {
                let traits = ["identity_id": UUID().uuidString, "provider": provider, "provider_id": name]
                try await add("identity_unlinked", by: person.text, traits: traits, on: stage)
            }
            // An earlier version left such entries without their actor.
            try await add("left", by: "", traits: ["provider": "email", "provider_id": person.text], on: stage)
            try await stage.erase(person)
            #expect(try await stage.traces(of: person) == "")
            let kept = try await stage.value(
                """
                select string_agg(payload::jsonb ->> 'traits', ' ' order by payload::jsonb ->> 'traits')
                from auth.audit_log_entries
                where payload ->> 'action' = 'identity_unlinked'
                """,
                as: String.self
            )
            #expect(kept == #"{"provider": "apple"} {"provider": "email"} {"provider": "phone"}"#)
        }
    }

    /// The column's type accepts escapes that the server cannot turn into text.
    @Test func anEntryThatTheServerCannotReadStopsNobodyAndIsScrubbed() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for odd in [#"\ud800"#, #"\uDC00\uD83D"#, #"a\u0000b"#, #"\\\ud83d\\"#] {
                try await stage.sql(
                    """
                    insert into auth.audit_log_entries (id, payload, created_at, ip_address)
                    values (
                        gen_random_uuid(),
                        replace(\(#"{"actor_id": "?", "actor_name": "\#(odd)", "action": "odd"}"#), '?', \(person.text))::json,
                        now(),
                        ''
                    )
                    """
                )
            }
            try await stage.sql(
                #"""
                insert into auth.audit_log_entries (id, payload, created_at, ip_address)
                values
                    (gen_random_uuid(), '{"actor_id": "a stranger", "actor_name": "a\\\u0000b"}', now(), ''),
                    (gen_random_uuid(), '{"actor_id": "a stranger", "actor_name": "a\u0000b"}', now(), ''),
                    (gen_random_uuid(), '{"actor_id": "a stranger", "actor_name": "a\udC00b"}', now(), '')
                """#
            )
            try await add("named", by: person.text, traits: ["path": #"C:\u0000"#], on: stage)
            try await stage.erase(person)
            #expect(try await stage.traces(of: person) == "")
            let odd = try await stage.value(
                "select string_agg(payload::text, '') from auth.audit_log_entries where payload::text like '%odd%'",
                as: String.self
            )
            #expect(odd == String(repeating: #"{"action": "odd"}"#, count: 4))
            let strangers: Statement = "select from auth.audit_log_entries where payload::text like '%stranger%'"
            #expect(try await stage.count(strangers) == 3)
        }
    }

    /// Somebody who begins to link an identity and gives up leaves a flow that has no user.
    ///
    /// Old auth servers have no such flows.
    @Test(arguments: [true, false]) func aLinkThatWasGivenUpGoes(_ hasLinks: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let column: Statement = hasLinks ? "linking_target_id" : "user_id"
            if !hasLinks { try await stage.sql("alter table auth.flow_state drop column linking_target_id") }
            try await stage.sql(
                """
                insert into auth.flow_state (id, \(column), provider_type, authentication_method, created_at)
                values (gen_random_uuid(), \(person.id), 'google', 'oauth', now() - interval '2 days')
                """
            )
            try await stage.erase(person)
            #expect(try await stage.count("select from auth.flow_state where \(column) = \(person.id)") == 0)
        }
    }

    /// An erased person who acted on somebody else is removed from the entry, and the other person stays in it.
    @Test func ofAnEntryAboutTwoOnlyTheErasedOneGoes() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta", apple: false)
            try await add("by_other", by: other.text, traits: ["user_id": person.text, "user_email": "x"], on: stage)
            try await add("on_other", by: person.text, traits: ["user_id": other.text, "user_email": "y"], on: stage)
            try await stage.erase(person)
            let byOther = try await entry("by_other", on: stage)
            #expect(byOther.contains(other.text) && !byOther.contains("user_email"), "\(byOther)")
            let onOther = try await entry("on_other", on: stage)
            #expect(onOther.contains(other.text) && onOther.contains("user_email"), "\(onOther)")
            #expect(!onOther.contains("actor_id"), "\(onOther)")
        }
    }

    @Test func unfinishedUploadsGoWhoeverWroteTheirOwnerAndWhereTheBucketMayKeepThemStay() async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('invoices', 'invoices')")
            let person = try await stage.signUp()
            for (bucket, owner) in [("avatars", person.id.uuidString), ("invoices", person.text)] {
                try await stage.sql(
                    """
                    insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version, owner_id)
                    values (\(bucket), 'x', \(bucket), 'big.mov', '1', \(owner))
                    """
                )
            }
            var policy = Stage.swift
            policy.keptBuckets = ["invoices"]
            try await stage.erase(person, policy)
            #expect(
                try await stage.value("select string_agg(id, ' ') from storage.s3_multipart_uploads", as: String.self)
                    == "invoices"
            )
        }
    }

    /// Storage records no owner for an upload with the service key.
    @Test func unfinishedUploadsOfNobodyGoWithTheFolderTheyLieIn() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta", apple: false))
            let uploads: [(key: String, owner: String?)] = [
                ("\(person.text)/a.mov", nil), ("\(person.id.uuidString)/b.mov", ""), ("\(other.text)/c.mov", nil),
                ("\(other.text)/d.mov", person.text), ("e.mov", nil),
            ]
            for (key, owner) in uploads {
                try await stage.sql(
                    """
                    insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version, owner_id)
                    values (\(key), 'x', 'avatars', \(key), '1', \(owner))
                    """
                )
            }
            try await stage.erase(person)
            let left = try await stage.admin.withConnection { connection in
                try connection.query(
                    "select right(key, 5) from storage.s3_multipart_uploads order by 1",
                    as: String.self
                )
            }
            #expect(left == ["c.mov", "e.mov"])
        }
    }
}
