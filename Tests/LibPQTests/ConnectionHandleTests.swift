import LibPQ
import TestSupport
import Testing

@Suite struct ConnectionHandleTests {
    @Test func aConnectionThatCannotBeMadeIsBrokenAndSaysWhy() throws {
        let handle = try ConnectionHandle(parameters: [("dbname", "host=/nowhere/at/all")]) { _ in }
        #expect(handle.isBroken)
        #expect(handle.errorMessage.contains("/nowhere/at/all"))
        #expect(handle.refusalSQLState == nil)
    }

    @Test func parametersInForceHoldNoPassword() throws {
        let conninfo = "host=/nowhere user=anna password=secret"
        let handle = try ConnectionHandle(parameters: [("dbname", conninfo)]) { _ in }
        #expect(handle.parametersInForce()["user"] == "anna")
        #expect(handle.parametersInForce()["password"] == nil)
    }

    @Test func malformedStringsAreErrors() {
        #expect(throws: ConninfoError.self) { try Conninfo("host") }
        #expect(throws: ConninfoError.self) { try Conninfo("nonsense=1") }
        #expect(Conninfo.isConnectionString("postgres://db"))
        #expect(!Conninfo.isConnectionString("app"))
    }
}
