import Testing
import Waiting

@testable import AccountLifecycle

@Suite struct PassPermitsTests {
    @Test(arguments: [(1, 1), (2, 1), (3, 2), (10, 9)])
    func oneConnectionIsLeft(connections: Int, total: Int) {
        #expect(Permits(poolOf: connections).total == total)
    }
}
