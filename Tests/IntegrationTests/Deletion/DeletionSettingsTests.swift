import AccountLifecycle
import Settings
import Testing

@testable import accountctl

@Suite("How accounts are deleted is what the settings say:")
struct DeletionSettingsTests {
    @Test("where they say nothing, what the lifecycle does by itself")
    func standard() {
        #expect(policy([:]) == DeletionPolicy())
    }

    @Test("a bucket of the app's is emptied besides avatars")
    func buckets() {
        #expect(policy(["ACCOUNTCTL_DELETION_BUCKETS": "documents"]).buckets == ["avatars", "documents"])
    }

    private func policy(_ variables: [String: String]) -> DeletionPolicy {
        WorkerServices.policy(Settings.check(SettingsInputs(file: nil, variables: variables) { _ in "" }).settings)
    }
}
