import Foundation
import Testing

@testable import AccountLifecycle

struct TransferWalkTests {
    private static let ids = (1...6).compactMap { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") }

    /// Walks over accounts in pages of `rows` until the walk is over.
    ///
    /// - Returns: The numbers of the accounts that were read, in order.
    private func read(
        _ accounts: ArraySlice<UUID> = Self.ids[...],
        onPagesOf rows: Int,
        after start: UUID,
        isDue: (Int, _ reads: Int) -> Bool
    ) -> [Int] {
        var walk = TransferWalk(after: start)
        var read: [Int] = []
        while !walk.isOver, read.count < 100 {
            let page = accounts.filter { id in walk.position.map { id > $0 } ?? true }.prefix(rows)
            let numbers = page.compactMap { accounts.firstIndex(of: $0) }.map { $0 + 1 }
            read += numbers
            let hasFound = numbers.contains { number in isDue(number, read.count { $0 == number }) }
            walk.pass(page.last, hasFound: hasFound)
        }
        return read
    }

    @Test func aWalkThatFindsNobodyReadsEverybodyOnce() {
        #expect(read(onPagesOf: 2, after: Self.ids[1]) { _, _ in false } == [3, 4, 5, 6, 1, 2])
    }

    /// After the last due account that it found, a walk makes one more full round.
    @Test func whoWasFoundIsNotReadAgainBeforeTheNextRound() {
        let read = read(onPagesOf: 2, after: Self.ids[1]) { number, reads in number == 5 && reads == 1 }
        #expect(read == [3, 4, 5, 6, 1, 2, 3, 4, 5, 6])
    }

    /// An account about which Apple gave no answer twice is found again in the following rounds.
    @Test func whoWasAskedInVainIsFoundByTheNextRound() {
        let read = read(onPagesOf: 3, after: Self.ids[5]) { number, reads in number == 1 && reads < 3 }
        #expect(read == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3])
    }

    @Test func aWalkEndsWhereNoneIsLeft() throws {
        #expect(read([], onPagesOf: 2, after: Self.ids[0]) { _, _ in true } == [])
        // The account that was found has since been deleted, and so have all accounts behind it.
        var walk = TransferWalk(after: Self.ids[0])
        walk.pass(Self.ids[5], hasFound: true)
        walk.pass(nil, hasFound: false)
        walk.pass(Self.ids[2], hasFound: false)
        #expect(!walk.isOver)
        walk.pass(nil, hasFound: false)
        #expect(walk.isOver)
    }

    /// A walk may begin behind the last account, as it nearly always does if there are few accounts.
    @Test func aWalkMayBeginBehindEverybody() throws {
        let start = try #require(UUID(uuidString: "ffffffff-ffff-ffff-ffff-ffffffffffff"))
        #expect(read(onPagesOf: 4, after: start) { _, _ in false } == [1, 2, 3, 4, 5, 6])
    }
}
