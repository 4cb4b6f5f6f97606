/// The people whom tests of `user find` look for.
enum UserFindPeople {
    static let anna = "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"
    static let hidden = "00000000-0000-4000-8000-000000000002"
    static let digits = "00000000-0000-4000-8000-000000000003"
    static let enterprise = "00000000-0000-4000-8000-000000000004"
    static let request = "00000000-0000-4000-8000-00000000000a"
    static let sub = "001234.0123456789abcdef0123456789abcdef.0123"

    /// Anna, who is to be erased; somebody behind Apple's relay; somebody whose names are digits; Anna's namesake at an
    /// enterprise.
    static let sql = """
        insert into auth.users (instance_id, id, aud, role, email, phone, created_at, is_sso_user, deleted_at)
        select '00000000-0000-0000-0000-000000000000'::uuid, id::uuid, 'authenticated', 'authenticated', email, phone, now(),
            sso, gone
        from (
            values
                ('\(anna)', 'Anna@Example.com', '491511234567', false, null::timestamptz),
                ('\(hidden)', 'abc123@privaterelay.appleid.com', null, false, now()),
                ('\(digits)', 'digits@example.com', '4242424', false, null),
                ('\(enterprise)', 'anna@example.com', null, true, null)
        ) as p (id, email, phone, sso, gone);
        insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
        values
            ('\(anna)', '\(anna)', '{"email": "anna@example.com"}', 'email', now()),
            ('\(sub)', '\(hidden)', '{"email": "abc123@privaterelay.appleid.com"}', 'apple', now()),
            ('g-77', '\(digits)', '{"email": "digits@example.com"}', 'google', now()),
            ('4242424', '\(enterprise)', '{"email": "anna@example.com"}', 'keycloak', now());
        update public.profiles set username = 'anna_k' where id = '\(anna)';
        update public.profiles set username = '4242424' where id = '\(enterprise)';
        update public.profiles set username = 'a%b_c''d"' where id = '\(digits)';
        insert into accountctl.deletion_requests (
            id, user_id, origin, state, run_after, legal_deadline, locked_out_at
        )
        values ('\(request)', '\(anna)', 'app', 'running', now(), '2030-02-03T04:05:06Z', now());
        insert into accountctl.deletion_steps (request_id, step, runs, started_at)
        values ('\(request)', 'lock_out', 1, now() - interval '1 minute'), ('\(request)', 'delete_rows', 1, now());
        """
}
