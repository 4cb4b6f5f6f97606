/// Who may read profiles and avatars once the profiles bundle is installed.
///
/// The migrations take it from the setting `accountctl.profiles_visibility` of their session. Where nothing is asked,
/// what is there stays as it is and a new table opens each row to its own account.
package enum ProfilesVisibility: String, Sendable, Codable, CaseIterable {
    /// Each account reads its own row and files.
    case own
    /// Everybody reads all of them, as the User Management Starter has it.
    case everyone

    /// The name of the session setting that the migrations read.
    package static let settingName = "accountctl.profiles_visibility"
}
