/// Whose a file of nobody is that a profile names, told by the folder where it lies.
///
/// People write their profiles themselves, and name what they like there: the app's stock pictures, the logo of a team,
/// somebody else's picture. So a file without an owner, outside of the folders called by user ids, is an account's only
/// where the operator says of its folder that what lies there is accounts'. Of folders within each other the inner one
/// counts.
package struct AvatarFolders: Sendable, Hashable {
    /// Whose the files of nobody in a folder are.
    enum Fate: Sendable, Hashable {
        /// Of the account whose profile alone names one.
        case accounts
        /// The app's: they stay, whoever names them.
        case apps
        /// Nobody said.
        case undecided
    }

    private let accounts: Set<String>
    private let apps: Set<String>

    /// - Parameters:
    ///   - accounts: folders of accounts' files, with or without slashes around; `/` is the whole bucket.
    ///   - apps: folders of the app's own; one that is named as both is this.
    package init(accounts: [String] = [], apps: [String] = []) {
        self.accounts = Set(accounts.map(Self.path))
        self.apps = Set(apps.map(Self.path))
    }

    /// Whose the object of a key is, if it is nobody's.
    func fate(of key: String) -> Fate {
        switch (Self.depth(of: key, in: accounts), Self.depth(of: key, in: apps)) {
        case (nil, nil): .undecided
        case (.some, nil): .accounts
        case (nil, .some): .apps
        case (let own?, let kept?): own > kept ? .accounts : .apps
        }
    }

    /// The length of the innermost of the folders that hold a key; nil where none does.
    private static func depth(of key: String, in folders: Set<String>) -> Int? {
        folders.filter { folder in
            // By bytes: to Swift some texts are equal that are two keys.
            folder.isEmpty || key.utf8.starts(with: "\(folder)/".utf8)
        }
        .map(\.utf8.count)
        .max()
    }

    private static func path(_ folder: String) -> String { folder.split(separator: "/").joined(separator: "/") }
}
