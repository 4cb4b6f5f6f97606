import Testing

@testable import JobQueue

@Suite struct KeyedChoiceTests {
    private static func candidate(_ id: Int64, _ key: String?, priority: Int16 = 5) -> KeyedChoice.Candidate {
        .init(key: key.map(ExactText.init), place: .init(priority: priority, readyAt: id * 10, id: id))
    }

    @Test("Jobs of each key are taken up to its room, and the others parked")
    func keys() {
        let candidates = [
            Self.candidate(1, "a"), Self.candidate(2, "a"), Self.candidate(3, "b"), Self.candidate(4, nil),
            Self.candidate(5, "a"), Self.candidate(6, "full"),
        ]
        let rooms: [ExactText: Int64] = [ExactText("a"): 2, ExactText("b"): 1, ExactText("full"): -1]
        let choice = KeyedChoice(candidates, rooms: rooms, wanted: 10)
        #expect(choice.taken == [1, 2, 3, 4])
        #expect(choice.parked.map(\.place.id) == [5, 6])
        #expect(choice.passed == [5: 60])
    }

    @Test("Once enough jobs are taken, those of full keys are parked, and the others left as they are")
    func wanted() {
        let candidates = [
            Self.candidate(1, "a", priority: 1), Self.candidate(2, "b"), Self.candidate(3, "a", priority: 7),
            Self.candidate(4, nil, priority: 9),
        ]
        let choice = KeyedChoice(candidates, rooms: [ExactText("a"): 1, ExactText("b"): 1], wanted: 1)
        #expect(choice.taken == [1])
        #expect(choice.parked.map(\.place.id) == [3])
        // The priorities of the jobs that were left are not passed.
        #expect(choice.passed == [1: 10, 7: 30])
    }

    @Test("Keys that differ only in their Unicode scalars have separate room")
    func spelling() {
        let candidates = [Self.candidate(1, "\u{E9}"), Self.candidate(2, "e\u{301}")]
        let rooms: [ExactText: Int64] = [ExactText("\u{E9}"): 1, ExactText("e\u{301}"): 1]
        #expect(KeyedChoice(candidates, rooms: rooms, wanted: 5).taken == [1, 2])
    }
}
