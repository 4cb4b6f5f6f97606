import AccountLifecycle
import Foundation
import Sealing
import Testing

/// The seal of a receipt covers the whole receipt.
@Suite struct ReceiptSealTests {
    private static let text = """
        {
            "version": 1, "request": "7B9F4C52-3C0A-4E8E-9D0B-0A5B7C3D1E2F", "subject": "00ff", "subjectKey": "hash-1",
            "origin": "app", "requestedAt": 1000, "lockedOutAt": 2000, "finishedAt": 3000, "legalDeadline": 4000,
            "apple": "revoked",
            "steps": [
                {
                    "step": "delete_rows", "outcome": "ok", "runs": 1, "startedAt": 2100, "finishedAt": 2200,
                    "facts": {"counts": {"users": 1}, "unindexed": ["public.notes"]}
                },
                {"step": "verify", "outcome": "ok", "runs": 2, "startedAt": 2300, "finishedAt": 2400, "facts": {}}
            ],
            "outOfScope": ["backups", "replicas"]
        }
        """

    /// Every value that differs from this one in one place, and that place.
    private func variants(_ value: Any, at place: String = "") -> [(place: String, value: Any)] {
        switch value {
        case let object as [String: Any]:
            object.sorted { $0.key < $1.key }.flatMap { key, member in
                variants(member, at: place + "/" + key).map { changed in
                    (changed.place, object.merging([key: changed.value]) { $1 })
                }
            }
        case let array as [Any]:
            [(place + "/-", Array(array.dropLast()))]
                + array.indices.flatMap { index in
                    variants(array[index], at: place + "/\(index)").map { changed in
                        var copy = array
                        copy[index] = changed.value
                        return (changed.place, copy)
                    }
                }
        case let text as String: [(place, UUID(uuidString: text) == nil ? text + "x" : UUID().uuidString)]
        case let number as Int: [(place, number + 1)]
        default: []
        }
    }

    @Test func whateverIsChangedBreaksTheSeal() throws {
        let key = try HashKey(.named("hash-1"))
        let data = Data(Self.text.utf8)
        let document = try JSONDecoder().decode(ReceiptDocument.self, from: data)
        let seal = try document.seal(with: key)
        #expect(try document.seal(with: key) == seal)

        let changes = variants(try JSONSerialization.jsonObject(with: data))
        for change in changes {
            let changed = try JSONDecoder().decode(
                ReceiptDocument.self,
                from: JSONSerialization.data(withJSONObject: change.value)
            )
            #expect(changed != document, "\(change.place)")
            #expect(try changed.seal(with: key) != seal, "\(change.place) is not sealed")
        }
        // A new field has to be added to the text above, too.
        let encoded = try JSONSerialization.jsonObject(with: JSONEncoder().encode(document)) as? [String: Any]
        let places = Set(changes.compactMap { $0.place.split(separator: "/").first.map(String.init) })
        #expect(places == Set(try #require(encoded).keys))
        #expect(changes.count == 27)
    }
}
