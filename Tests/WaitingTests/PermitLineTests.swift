import Testing

@testable import Waiting

@Suite struct PermitLineTests {
    @Test func firstComeFirstServed() {
        var line = PermitLine(total: 1)
        #expect(line.takeNow(upTo: 1) == 1)
        #expect(line.takeNow(upTo: 1) == nil)
        #expect(line.enter(10, upTo: 1) == nil)
        #expect(line.enter(11, upTo: 1) == nil)
        #expect(line.giveBack(1).map(\.ticket) == [10])
        #expect(line.giveBack(1).map(\.ticket) == [11])
        #expect(line.giveBack(1).isEmpty)
        #expect(line.enter(12, upTo: 1) == 1)
    }

    @Test func whoLeavesGetsNothing() {
        var line = PermitLine(total: 1)
        #expect(line.takeNow(upTo: 1) == 1)
        #expect(line.enter(10, upTo: 1) == nil)
        #expect(line.enter(11, upTo: 1) == nil)
        line.leave(10)
        line.leave(10)
        #expect(line.giveBack(1).map(\.ticket) == [11])
    }

    @Test func eachGetsWhatIsFreeOfWhatItWants() {
        var line = PermitLine(total: 3)
        #expect(line.takeNow(upTo: 5) == 3)
        #expect(line.enter(10, upTo: 2) == nil)
        #expect(line.enter(11, upTo: 2) == nil)
        #expect(line.enter(12, upTo: 2) == nil)
        let served = line.giveBack(3)
        #expect(served.map(\.ticket) == [10, 11])
        #expect(served.map(\.count) == [2, 1])
    }
}
