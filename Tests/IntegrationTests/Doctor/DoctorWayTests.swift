import Postgres
import Testing

@testable import accountctl

@Suite("The doctor finds, of the way to the server:")
struct DoctorWayTests {
    @Test("whom nobody asked for a certificate; the way that somebody chose without TLS is worth knowing")
    func way() {
        #expect(DatabaseDoctor.way(nil).isEmpty && DatabaseDoctor.way(.local).isEmpty)
        #expect(DatabaseDoctor.way(.verified).map(\.severity) == [.ok])
        #expect(DatabaseDoctor.way(.plaintext).map(\.severity) == [.notice])
        let unverified = DatabaseDoctor.way(.unverified)
        #expect(unverified.map(\.severity) == [.warning])
        #expect(unverified.first?.todo?.contains("sslmode=verify-full") == true)
    }
}
