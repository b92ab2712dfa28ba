//! The time to find out whose a name of a public ID is, call by call: a name that takes longer than
//! others might tell something about the key.

use std::hint::black_box;
use std::time::Instant;

use snowflake_core::outside::public::{Key, Prefix, id};

use crate::effort::Effort;
use crate::quantiles::quantiles;
use crate::report::Table;

/// Measures each kind of name in turn, and prints the distributions.
pub fn measure(effort: &Effort) {
    let prefix = |text: &str| Prefix::new(text).expect("a prefix");
    let (orders, users) = (prefix("ord"), prefix("usr"));
    let keys = [Key::new(&[1; 16])];
    let true_name = keys[0].name(1_268_118_639_732_232_192, &orders).as_str().to_owned();
    let other_digit = if true_name.ends_with('0') { "1" } else { "0" };
    let forged = format!("{}{other_digit}", &true_name[..true_name.len() - 1]);
    let of_user = keys[0].name(1_268_118_639_732_232_192, &users).as_str().to_owned();
    let renamed = format!("ord_{}", &of_user[of_user.len() - 22..]);
    let names = [
        ("a true name", true_name.clone()),
        ("a true name with its last digit changed", forged),
        ("a true name of another prefix, with its prefix replaced", renamed),
        ("a true name of another prefix", of_user),
        ("a true name without its last digit", true_name[..true_name.len() - 1].to_owned()),
    ];
    let mut times = names.each_ref().map(|_| Vec::new());
    for _ in 0..effort.calls {
        for ((_, name), times) in names.iter().zip(&mut times) {
            let begin = Instant::now();
            black_box(id(&keys, black_box(name.as_bytes()), &orders));
            times.push(begin.elapsed().as_nanos() as f64);
        }
    }
    let title = format!(
        "Time of a call that finds out whose a name of a public ID is, with the reading of the clock; \
         {} calls of each, in turn, ns",
        effort.calls
    );
    let mut table = Table::new(title, &["name", "1 %", "50 %", "99 %"]);
    for ((what, _), times) in names.iter().zip(times) {
        let quantile = quantiles(times);
        table.row(what, [0.01, 0.5, 0.99].map(|share| format!("{:.0}", quantile(share))));
    }
    table.print();
}
