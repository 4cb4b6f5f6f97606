import Foundation
import Postgres
import Testing

@testable import AccountLifecycle

extension Stage {
    func setAvatar(of person: Person, _ text: String) async throws {
        try await sql("update public.profiles set avatar_url = \(text) where id = \(person.id)")
    }

    /// Two people whose profiles both name one file, which nobody owns.
    func twoWhoName(_ key: String) async throws -> (person: Person, other: Person) {
        let people = (try await signUp("anna", apple: false), try await signUp("berta", apple: false))
        #expect(try await upload(key, by: nil))
        for one in [people.0, people.1] { try await setAvatar(of: one, key) }
        return people
    }

    /// A person with a file in `avatars` and one in a second bucket, and a policy that empties both.
    func personWithTwoBuckets() async throws -> (person: Person, policy: DeletionPolicy) {
        try await sql("insert into storage.buckets (id, name) values ('scans', 'scans')")
        let person = try await signUp()
        try await upload("\(person.text)/me.png", by: person)
        #expect(try await upload("\(person.text)/id.png", by: nil, bucket: "scans"))
        var policy = Stage.swift
        policy.buckets = ["avatars", "scans"]
        return (person, policy)
    }

    /// Turns on versioning for the bucket of avatars.
    func keepVersions() async throws {
        try await sql("update storage.buckets set versioning_status = 'ENABLED' where id = 'avatars'")
    }

    /// The counts that the step that deletes avatars has recorded.
    func avatarCounts(_ request: UUID) async throws -> [String: Int] {
        try await counts(of: .deleteAvatars, request)
    }
}
