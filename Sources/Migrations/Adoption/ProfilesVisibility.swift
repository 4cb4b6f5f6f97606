/// Who may read profiles and avatars once the profiles bundle is installed.
///
/// The migrations read it from the setting `accountctl.profiles_visibility` of their session. If it is not set,
/// existing objects stay as they are, and a new table lets each account read only its own row.
package enum ProfilesVisibility: String, Sendable, Codable, CaseIterable {
    /// Each account reads its own row and files.
    case own
    /// Everybody reads all rows and files, as in the User Management Starter.
    case everyone

    /// The name of the session setting that the migrations read.
    package static let settingName = "accountctl.profiles_visibility"
}
