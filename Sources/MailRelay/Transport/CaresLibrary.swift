import CCares

/// The library's global initialisation.
enum CaresLibrary {
    private static let status = ares_library_init(Int32(ARES_LIB_INIT_ALL))

    static func initialize() throws(CaresError) {
        guard status == CaresStatus.success else { throw CaresError(action: "cannot set up c-ares", status: status) }
    }
}

/// The c-ares statuses that the exchange distinguishes.
enum CaresStatus {
    static let success = Int32(ACCOUNTCTL_ARES_SUCCESS)
    static let timeout = Int32(ACCOUNTCTL_ARES_TIMEOUT)
    static let destroyed = Int32(ACCOUNTCTL_ARES_DESTROYED)
}
