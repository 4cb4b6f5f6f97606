import AccountLifecycle
import Settings
import Testing

@testable import accountctl

@Suite("The reactions to credentials that are no longer valid follow the settings:")
struct CredentialSettingsTests {
    @Test("if they say nothing, the documented reactions apply, which are the defaults of the lifecycle")
    func standard() {
        #expect(policy() == CredentialPolicy())
    }

    @Test("each of the three events has its own reactions, and each reaction its own word")
    func each() {
        let said = policy(
            "ACCOUNTCTL_APPLE_ON_CONSENT_REVOKED=sign-out, forget",
            "ACCOUNTCTL_APPLE_ON_ACCOUNT_DELETED=request-deletion",
            "ACCOUNTCTL_APPLE_ON_GRANT_GONE=mark"
        )
        #expect(said.consentRevoked == [.signOut, .forgetCredential])
        #expect(said.accountDeleted == [.requestDeletion])
        #expect(said.grantGone == [.markIdentity])
        #expect(policy("ACCOUNTCTL_APPLE_ON_CONSENT_REVOKED=[]").consentRevoked.isEmpty)
    }

    private func policy(_ variables: String...) -> CredentialPolicy {
        var values: [String: String] = [:]
        for variable in variables {
            let parts = variable.split(separator: "=", maxSplits: 1)
            values[String(parts[0])] = String(parts[1])
        }
        let inputs = SettingsInputs(file: nil, variables: values) { _ in "" }
        return WorkerServices.credentialPolicy(Settings.check(inputs).settings.apple)
    }
}
