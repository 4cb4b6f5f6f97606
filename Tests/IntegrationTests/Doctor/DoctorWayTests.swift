import Postgres
import Testing

@testable import accountctl

@Suite("The doctor reports on the connection to the server:")
struct DoctorWayTests {
    @Test("a warning if the server's certificate is not checked, and a notice if the connection has no TLS")
    func way() {
        #expect(DatabaseDoctor.way(nil).isEmpty && DatabaseDoctor.way(.local).isEmpty)
        #expect(DatabaseDoctor.way(.verified).map(\.severity) == [.ok])
        #expect(DatabaseDoctor.way(.plaintext).map(\.severity) == [.notice])
        let unverified = DatabaseDoctor.way(.unverified)
        #expect(unverified.map(\.severity) == [.warning])
        #expect(unverified.first?.todo?.contains("sslmode=verify-full") == true)
    }
}
