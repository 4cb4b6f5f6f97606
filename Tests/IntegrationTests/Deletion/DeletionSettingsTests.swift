import AccountLifecycle
import Settings
import Testing

@testable import accountctl

@Suite("The deletion policy of the settings:")
struct DeletionSettingsTests {
    @Test("without settings, the default policy")
    func standard() {
        #expect(policy([:]) == DeletionPolicy())
    }

    @Test("a bucket of the app is emptied in addition to avatars")
    func buckets() {
        #expect(policy(["ACCOUNTCTL_DELETION_BUCKETS": "documents"]).buckets == ["avatars", "documents"])
    }

    private func policy(_ variables: [String: String]) -> DeletionPolicy {
        WorkerServices.policy(Settings.check(SettingsInputs(file: nil, variables: variables) { _ in "" }).settings)
    }
}
