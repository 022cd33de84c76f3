(** The sign-change bound (Laguerre 1883, after Descartes): a finite sum of c exp(t x) with distinct real t, listed in
    rising order of t, has at most as many real zeros as its coefficients have sign changes.

    Proof: between the zeros of f lie zeros of its derivative (Rolle). Multiply f by exp(-s x) with s at the first sign
    change and differentiate: each c becomes c (t - s), which takes one sign change away. *)

From Coq Require Import Reals List Lia Lra Sorted.
Import ListNotations.
Open Scope R_scope.

(** A term: coefficient and exponent. *)
Definition term := (R * R)%type.

Fixpoint expsum (l : list term) (x : R) : R :=
  match l with
  | [] => 0
  | (c, t) :: l' => c * exp (t * x) + expsum l' x
  end.

(** How often the signs change along a list, zeros left out, if [p] went before. *)
Fixpoint changes (p : R) (l : list R) : nat :=
  match l with
  | [] => O
  | c :: l' =>
      if Rlt_dec (p * c) 0 then S (changes c l')
      else if Req_EM_T c 0 then changes p l' else changes c l'
  end.

Definition sign_changes (l : list R) : nat := changes 0 l.

(** The exponents rise, and all are above [lo]. *)
Fixpoint rising (lo : R) (l : list term) : Prop :=
  match l with
  | [] => True
  | (_, t) :: l' => lo < t /\ rising t l'
  end.

Definition sorted (l : list term) : Prop :=
  match l with
  | [] => True
  | (_, t) :: l' => rising t l'
  end.

Definition scaled (s : R) (l : list term) : list term := map (fun a => (fst a * (snd a - s), snd a - s)) l.

Definition coefficients (l : list term) : list R := map fst l.

(** ** The derivative *)

Lemma expsum_derivative l x :
  derivable_pt_lim (expsum l) x (expsum (map (fun a => (fst a * snd a, snd a)) l) x).
Proof.
  induction l as [|[c t] l IH]; simpl.
  - apply derivable_pt_lim_const.
  - apply (derivable_pt_lim_plus (fun x => c * exp (t * x)) (expsum l)); [|exact IH].
    replace (c * t * exp (t * x)) with (c * (exp (t * x) * (t * 1))) by ring.
    apply (derivable_pt_lim_scal (fun x => exp (t * x)) c).
    apply (derivable_pt_lim_comp (fun x => t * x) exp).
    + apply (derivable_pt_lim_scal id t), derivable_pt_lim_id.
    + apply derivable_pt_lim_exp.
Qed.

Lemma expsum_shift s l x : expsum (map (fun a => (fst a, snd a - s)) l) x = exp (- s * x) * expsum l x.
Proof.
  induction l as [|[c t] l IH]; simpl; [ring|].
  rewrite IH. replace ((t - s) * x) with (- s * x + t * x) by ring. rewrite exp_plus. ring.
Qed.

Lemma shifted_derivative s l x :
  derivable_pt_lim (expsum (map (fun a => (fst a, snd a - s)) l)) x (expsum (scaled s l) x).
Proof.
  replace (scaled s l) with (map (fun a : term => (fst a * snd a, snd a)) (map (fun a => (fst a, snd a - s)) l)).
  - apply expsum_derivative.
  - unfold scaled. now rewrite map_map.
Qed.

(** ** Rolle for lists of zeros *)

Lemma rolle_list (f f' : R -> R) z zs :
  (forall x, derivable_pt_lim f x (f' x)) ->
  StronglySorted Rlt (z :: zs) -> Forall (fun x => f x = 0) (z :: zs) ->
  exists ys, length ys = length zs /\ StronglySorted Rlt ys /\ Forall (fun y => z < y) ys /\
    Forall (fun y => f' y = 0) ys.
Proof.
  intros Hd. revert z. induction zs as [|w zs IH]; intros z Hs Hz.
  - exists []. repeat split; constructor.
  - inversion Hs as [|? ? Hs' Hlt]; subst. inversion Hz as [|? ? Hz0 Hz']; subst.
    inversion Hlt as [|? ? Hzw _]; subst. inversion Hz' as [|? ? Hw0 _]; subst.
    destruct (IH w Hs' Hz') as (ys & Hlen & Hys & Hgt & Hzero).
    destruct (MVT_cor2 f f' z w Hzw (fun c _ => Hd c)) as (y & Hy & Hzy & Hyw).
    exists (y :: ys). repeat split.
    + simpl. now rewrite Hlen.
    + constructor; [assumption|]. eapply Forall_impl; [|exact Hgt]. intros; simpl in *; lra.
    + constructor; [assumption|]. eapply Forall_impl; [|exact Hgt]. intros; simpl in *; lra.
    + constructor; [|assumption]. rewrite Hz0, Hw0 in Hy.
      assert (H : f' y * (w - z) = 0) by lra. apply Rmult_integral in H. destruct H; lra.
Qed.

(** ** Sign changes *)

Lemma changes_same_sign p q l : 0 < p * q -> changes p l = changes q l.
Proof.
  revert p q. induction l as [|c l IH]; intros p q H; simpl; [reflexivity|].
  assert (Hpq : p * c < 0 <-> q * c < 0) by (split; intros; nra).
  destruct (Rlt_dec (p * c) 0), (Rlt_dec (q * c) 0); try tauto.
  destruct (Req_EM_T c 0); [now apply IH | reflexivity].
Qed.

Lemma rising_weaken lo lo' l : lo' <= lo -> rising lo l -> rising lo' l.
Proof. destruct l as [|[c t] l]; simpl; [tauto|]. intros ? [? ?]; split; [lra | assumption]. Qed.

Lemma changes_scaled_above s p l : rising s l -> changes p (coefficients (scaled s l)) = changes p (coefficients l).
Proof.
  revert p. induction l as [|[c t] l IH]; intros p H; simpl; [reflexivity|].
  destruct H as [Ht Hl]. assert (Hs : rising s l) by (apply rising_weaken with t; [lra | assumption]).
  specialize (IH) as IH'. unfold coefficients, scaled in *. simpl in *.
  assert (H1 : p * (c * (t - s)) < 0 <-> p * c < 0) by (split; intros; nra).
  destruct (Rlt_dec (p * (c * (t - s))) 0), (Rlt_dec (p * c) 0); try tauto.
  - rewrite IH by assumption. f_equal. apply changes_same_sign. nra.
  - destruct (Req_EM_T (c * (t - s)) 0) as [E|E], (Req_EM_T c 0) as [E'|E'].
    + now apply IH.
    + apply Rmult_integral in E. destruct E; lra.
    + subst; lra.
    + rewrite IH by assumption. apply changes_same_sign. nra.
Qed.

(** At the first sign change, multiplication by t - s takes it away. *)
Lemma first_change p lo l n : p <> 0 -> rising lo l -> changes p (coefficients l) = S n ->
  exists s, lo < s /\ Forall (fun a => snd a <> s) l /\ changes (- p) (coefficients (scaled s l)) = n.
Proof.
  revert p lo. induction l as [|[c t] l IH]; intros p lo Hp H Hn; simpl in Hn; [discriminate|].
  destruct H as [Ht Hl]. unfold coefficients, scaled in *. simpl in *.
  destruct (Rlt_dec (p * c) 0) as [L|L].
  - injection Hn as Hn. exists ((lo + t) / 2). split; [lra|].
    assert (Hr : rising ((lo + t) / 2) l) by (apply rising_weaken with t; [lra | assumption]). split.
    + constructor; [simpl; lra|]. clear -Hr. revert Hr. generalize ((lo + t) / 2). intros s.
      revert s. induction l as [|[c t'] l IH]; intros s H; constructor; simpl in *; [lra|].
      apply IH, rising_weaken with t'; [lra | tauto].
    + destruct (Rlt_dec (- p * (c * (t - (lo + t) / 2))) 0) as [L'|L']; [exfalso; nra|].
      destruct (Req_EM_T (c * (t - (lo + t) / 2)) 0) as [E|E]; [exfalso; nra|].
      rewrite <- Hn. transitivity (changes c (coefficients (scaled ((lo + t) / 2) l))).
      * apply changes_same_sign. nra.
      * now apply changes_scaled_above.
  - destruct (Req_EM_T c 0) as [E|E].
    + subst c. destruct (IH p t Hp Hl Hn) as (s & Hs & Hne & Hc). exists s. split; [lra|]. split.
      * constructor; [simpl; lra | assumption].
      * destruct (Rlt_dec (- p * (0 * (t - s))) 0) as [L'|L']; [exfalso; nra|].
        destruct (Req_EM_T (0 * (t - s)) 0) as [E'|E']; [assumption | exfalso; apply E'; ring].
    + destruct (IH c t E Hl Hn) as (s & Hs & Hne & Hc). exists s. split; [lra|]. split.
      * constructor; [simpl; lra | assumption].
      * assert (Hpc : 0 < p * c) by (destruct (Rtotal_order (p * c) 0) as [?|[H0|?]]; [lra| |lra];
          apply Rmult_integral in H0; tauto).
        destruct (Rlt_dec (- p * (c * (t - s))) 0) as [L'|L']; [exfalso; nra|].
        destruct (Req_EM_T (c * (t - s)) 0) as [E'|E']; [exfalso; nra|].
        rewrite <- Hc. apply changes_same_sign. nra.
Qed.

Lemma first_change_of_all lo l n : rising lo l -> sign_changes (coefficients l) = S n ->
  exists s, lo < s /\ Forall (fun a => snd a <> s) l /\ sign_changes (coefficients (scaled s l)) = n.
Proof.
  unfold sign_changes, coefficients, scaled. revert lo.
  induction l as [|[c t] l IH]; intros lo H Hn; simpl in *; [discriminate|]. destruct H as [Ht Hl].
  destruct (Rlt_dec (0 * c) 0) as [L|L]; [exfalso; lra|].
  destruct (Req_EM_T c 0) as [E|E].
  - subst c. destruct (IH t Hl Hn) as (s & Hs & Hne & Hc). exists s. split; [lra|]. split.
    + constructor; [simpl; lra | assumption].
    + destruct (Rlt_dec (0 * (0 * (t - s))) 0) as [L'|L']; [exfalso; lra|].
      destruct (Req_EM_T (0 * (t - s)) 0) as [E'|E']; [assumption | exfalso; apply E'; ring].
  - destruct (first_change c t l n E Hl Hn) as (s & Hs & Hne & Hc). exists s. split; [lra|]. split.
    + constructor; [simpl; lra | assumption].
    + destruct (Rlt_dec (0 * (c * (t - s))) 0) as [L'|L']; [exfalso; lra|].
      destruct (Req_EM_T (c * (t - s)) 0) as [E'|E'].
      * apply Rmult_integral in E'. destruct E'; exfalso; lra.
      * rewrite <- Hc. apply changes_same_sign.
        replace (c * (t - s) * - c) with ((c * c) * (s - t)) by ring.
        apply Rmult_lt_0_compat; [nra | lra].
Qed.

Lemma changes_length p l : (changes p l <= length l)%nat.
Proof.
  revert p. induction l as [|c l IH]; intros p; simpl; [lia|].
  destruct (Rlt_dec (p * c) 0); [pose proof (IH c); lia|].
  destruct (Req_EM_T c 0); [pose proof (IH p) | pose proof (IH c)]; lia.
Qed.

Lemma sign_changes_length l : (sign_changes l <= pred (length l))%nat.
Proof.
  unfold sign_changes. destruct l as [|c l]; simpl; [lia|].
  destruct (Rlt_dec (0 * c) 0); [exfalso; lra|].
  destruct (Req_EM_T c 0); apply changes_length.
Qed.

(** ** The bound *)

Definition nonzero (l : list term) : Prop := Exists (fun a => fst a <> 0) l.

Lemma one_sign p l x : p <> 0 -> changes p (coefficients l) = O -> 0 <= p * expsum l x.
Proof.
  unfold coefficients. revert p. induction l as [|[c t] l IH]; intros p Hp H; simpl in *; [lra|].
  destruct (Rlt_dec (p * c) 0) as [L|L]; [discriminate|].
  pose proof (exp_pos (t * x)) as He. destruct (Req_EM_T c 0) as [E|E].
  - subst. specialize (IH p Hp H). nra.
  - specialize (IH c E H). destruct (Rdichotomy c 0 E); assert (0 < c * c) by nra; rewrite Rmult_plus_distr_l;
      apply Rplus_le_le_0_compat; nra.
Qed.

Lemma no_change_no_zero l x : nonzero l -> sign_changes (coefficients l) = O -> expsum l x <> 0.
Proof.
  unfold sign_changes, coefficients, nonzero. induction l as [|[c t] l IH]; intros Hnz H; simpl in *.
  - inversion Hnz.
  - destruct (Rlt_dec (0 * c) 0) as [L|L]; [exfalso; lra|]. destruct (Req_EM_T c 0) as [E|E].
    + subst. rewrite Rmult_0_l, Rplus_0_l. apply IH; [|assumption].
      inversion Hnz; subst; [exfalso; simpl in *; lra | assumption].
    + pose proof (one_sign c l x E H). pose proof (exp_pos (t * x)).
      assert (0 < c * c) by nra. intros Hzero.
      assert (c * (c * exp (t * x) + expsum l x) = 0) by (rewrite Hzero; ring).
      assert (0 < c * c * exp (t * x)) by (apply Rmult_lt_0_compat; assumption). nra.
Qed.

Lemma rising_scaled s lo l : rising lo l -> rising (lo - s) (scaled s l).
Proof.
  unfold scaled. revert lo. induction l as [|[c t] l IH]; intros lo H; simpl in *; [exact I|].
  split; [lra|]. apply IH; tauto.
Qed.

Lemma nonzero_scaled s l : Forall (fun a => snd a <> s) l -> nonzero l -> nonzero (scaled s l).
Proof.
  unfold nonzero, scaled. intros Hs H. induction H as [[c t] l H|[c t] l H IH]; inversion Hs; subst; simpl in *.
  - left. simpl. intros E. apply Rmult_integral in E. destruct E; [tauto | lra].
  - right. now apply IH.
Qed.

Lemma sorted_zeros_bound n : forall lo l zs, rising lo l -> nonzero l -> sign_changes (coefficients l) = n ->
  StronglySorted Rlt zs -> Forall (fun x => expsum l x = 0) zs -> (length zs <= n)%nat.
Proof.
  induction n as [|n IH]; intros lo l [|z zs] Hl Hnz Hn Hs Hz; simpl; try lia.
  - inversion Hz; subst. exfalso. now apply (no_change_no_zero l z).
  - destruct (first_change_of_all lo l n Hl Hn) as (s & Hlo & Hne & Hc).
    destruct (rolle_list (expsum (map (fun a => (fst a, snd a - s)) l)) (expsum (scaled s l)) z zs)
      as (ys & Hlen & Hys & _ & Hzero).
    + apply shifted_derivative.
    + assumption.
    + eapply Forall_impl; [|exact Hz]. intros x Hx. simpl in Hx. rewrite expsum_shift, Hx. ring.
    + rewrite <- Hlen. apply le_n_S.
      eapply (IH (lo - s) (scaled s l) ys); try assumption.
      * now apply rising_scaled.
      * now apply nonzero_scaled.
Qed.

(** ** Zeros in any order *)

Fixpoint insert (x : R) (l : list R) : list R :=
  match l with
  | [] => [x]
  | y :: l' => if Rlt_dec x y then x :: l else y :: insert x l'
  end.

Lemma insert_in x y l : In y (insert x l) <-> y = x \/ In y l.
Proof.
  induction l as [|z l IH]; simpl; [intuition|].
  destruct (Rlt_dec x z); simpl; [intuition|]. rewrite IH. intuition.
Qed.

Lemma insert_length x l : length (insert x l) = S (length l).
Proof. induction l as [|z l IH]; simpl; [reflexivity|]. destruct (Rlt_dec x z); simpl; now rewrite ?IH. Qed.

Lemma insert_sorted x l : ~ In x l -> StronglySorted Rlt l -> StronglySorted Rlt (insert x l).
Proof.
  intros Hx H. induction H as [|z l H IH Hz]; simpl; [repeat constructor|].
  destruct (Rlt_dec x z) as [L|L].
  - constructor; [now constructor|]. constructor; [assumption|].
    eapply Forall_impl; [|exact Hz]. intros; simpl in *; lra.
  - assert (z <> x) by (intros ->; apply Hx; now left).
    constructor; [apply IH; intros N; apply Hx; now right|].
    apply Forall_forall. intros y Hy. apply insert_in in Hy. destruct Hy as [->|Hy]; [lra|].
    now apply (proj1 (Forall_forall _ _) Hz).
Qed.

Lemma sorting zs : NoDup zs ->
  exists ys, length ys = length zs /\ StronglySorted Rlt ys /\ forall y, In y ys <-> In y zs.
Proof.
  induction 1 as [|z zs Hz H (ys & Hlen & Hs & Hin)].
  - exists []. repeat split; try constructor; tauto.
  - exists (insert z ys). repeat split.
    + rewrite insert_length. simpl. now rewrite Hlen.
    + apply insert_sorted; [now rewrite Hin | assumption].
    + intros Hy. apply insert_in in Hy. simpl. rewrite <- Hin. intuition.
    + intros Hy. apply insert_in. simpl in Hy. rewrite Hin. intuition.
Qed.

(** The sign-change bound: distinct zeros are at most as many as sign changes. *)
Theorem sign_change_bound (l : list term) (zs : list R) : sorted l -> nonzero l ->
  NoDup zs -> (forall x, In x zs -> expsum l x = 0) -> (length zs <= sign_changes (coefficients l))%nat.
Proof.
  intros Hl Hnz Hd Hz. destruct (sorting zs Hd) as (ys & <- & Hs & Hin).
  assert (Hr : exists lo, rising lo l).
  { destruct l as [|[c t] l]; [exists 0; exact I|]. exists (t - 1). split; [lra | exact Hl]. }
  destruct Hr as [lo Hr]. eapply sorted_zeros_bound; try eassumption; [reflexivity|].
  apply Forall_forall. intros y Hy. apply Hz. now apply Hin.
Qed.

(** So n terms have at most n - 1 distinct zeros. *)
Theorem fewer_zeros_than_terms (l : list term) (zs : list R) : sorted l -> nonzero l ->
  NoDup zs -> (forall x, In x zs -> expsum l x = 0) -> (length zs <= pred (length l))%nat.
Proof.
  intros Hl Hnz Hd Hz. pose proof (sign_change_bound l zs Hl Hnz Hd Hz).
  pose proof (sign_changes_length (coefficients l)) as H1.
  replace (length (coefficients l)) with (length l) in H1 by (symmetry; apply map_length). lia.
Qed.
