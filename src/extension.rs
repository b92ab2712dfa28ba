//! Functions of an extension, whatever schema they are in.

use std::ffi::CStr;

use pgrx::pg_sys;

/// The functions of this name without arguments that belong to the extension.
pub fn functions(extension: pg_sys::Oid, name: &CStr) -> Vec<pg_sys::Oid> {
    let none = pg_sys::Datum::null();
    let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP;
    // SAFETY: looks into the catalog. What the list holds is copied before it is released.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache as _, 1, name.as_ptr().into(), none, none);
        let members = (*list).members.as_slice((*list).n_members as usize);
        let rows = members.iter().map(|member| {
            let row = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_proc>(
                &raw mut (**member).tuple,
            );
            ((*row).oid, (*row).pronargs)
        });
        let mut named: Vec<pg_sys::Oid> =
            rows.filter(|(_, arguments)| *arguments == 0).map(|(oid, _)| oid).collect();
        pg_sys::ReleaseCatCacheList(list);
        let class = pg_sys::ProcedureRelationId;
        named.retain(|oid| pg_sys::getExtensionOfObject(class, *oid) == extension);
        if extension == pg_sys::InvalidOid { Vec::new() } else { named }
    }
}
